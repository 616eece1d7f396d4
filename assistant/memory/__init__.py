"""What is kept on disk of what was said."""
