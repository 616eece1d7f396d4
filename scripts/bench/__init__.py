"""Speed: how long the assistant takes, and what it costs the machine."""
