"""What the language model sees: the conversation, its window, its summary, the prompt."""
