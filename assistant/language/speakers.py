"""Names of the speakers in a conversation."""

USER = "user"
"""The user as a speaker. Other people are identified by their own names."""
ASSISTANT = "assistant"
"""The assistant as a speaker. Only the part of an answer that was actually heard is attributed to
it.
"""
