"""Measures quality: how often recognition, recall, extraction and answers are right."""
