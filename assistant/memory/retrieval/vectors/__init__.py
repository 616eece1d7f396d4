"""Vectors of one user's memories in RAM, quantised by tier, with nearest-neighbour search."""
