"""Keys, and files that are sealed with them."""
