"""The talk tab: the conversation, its context, recalled memories, and latency."""
