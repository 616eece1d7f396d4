"""The screen on a pseudo-terminal: its first frame, its longest frames, what it costs."""
