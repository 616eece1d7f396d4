"""Small parts used by several screens."""
