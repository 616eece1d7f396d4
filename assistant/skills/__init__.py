"""What the assistant can do when it is asked to."""
