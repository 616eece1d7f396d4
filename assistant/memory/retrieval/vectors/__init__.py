"""The vectors of one user's memories in RAM: packed by tier, and searched for the nearest."""
