"""Words, numbers, sentences, days and persons of a language: no memory, no model."""
