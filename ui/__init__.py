"""User interfaces: the command line and the terminal screens. They use the interfaces that the
assistant's packages offer, but not the internals."""
