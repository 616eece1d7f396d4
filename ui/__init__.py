"""User interfaces: the command line and the terminal screens. They know the assistant's events,
commands and settings, and nothing of how it works inside."""
