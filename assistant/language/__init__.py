"""Words, numbers, sentences, dates and grammatical person; no memory, no model."""
