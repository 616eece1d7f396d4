"""The talk tab: the conversation, its context, what was recalled, where the time went."""
