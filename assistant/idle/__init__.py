"""What happens between utterances: when it may, in which order, and what becomes of it."""
