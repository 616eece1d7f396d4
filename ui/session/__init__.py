"""The sessions that a screen connects to: a running assistant or a recording."""
