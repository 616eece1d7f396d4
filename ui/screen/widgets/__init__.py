"""Small parts that several screens draw."""
