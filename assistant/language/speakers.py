"""The names of speakers."""

USER = "user"
"""The user; other people go by their names."""
ASSISTANT = "assistant"
"""The assistant, as the speaker of those of its words that were heard."""
