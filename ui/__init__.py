"""User interfaces: the command line and the terminal screens. They know the assistant's events,
commands and settings, but nothing of its internals."""
