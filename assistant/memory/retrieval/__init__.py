"""Retrieval: finds the memories relevant to a question, within a deadline."""
