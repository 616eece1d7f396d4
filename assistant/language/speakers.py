"""Who said something."""

USER = "user"
"""The speaker of what the user said; other speakers go by their names."""


ASSISTANT = "assistant"
"""The speaker of what the assistant said, as far as it was heard."""
