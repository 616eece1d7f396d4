"""The names of speakers."""

USER = "user"
"""The user; other people go by their names."""
ASSISTANT = "assistant"
"""The assistant, for what was heard of its words."""
