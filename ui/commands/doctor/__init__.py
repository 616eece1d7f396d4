"""`assistant doctor`: what is wrong on this machine, and what helps."""
