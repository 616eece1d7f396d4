"""`assistant memory`: look into what is remembered, change it, forget it."""
