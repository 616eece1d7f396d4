"""Hearing and speaking: from sound to words and back."""
