"""Finding what matters for a question, before the deadline."""
