"""Measures the screen on a pseudo-terminal: its first frame, its longest frames, and its cost."""
