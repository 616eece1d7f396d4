"""What a screen or a command connects to: a running assistant, or a recording."""
