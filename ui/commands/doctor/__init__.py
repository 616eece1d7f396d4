"""`assistant doctor`: finds out what is wrong on this machine, and how to fix it."""
