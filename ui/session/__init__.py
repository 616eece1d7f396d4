"""What a screen or a command is connected to: an assistant that runs, or a recording."""
