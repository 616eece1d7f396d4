"""Decides where the user's turns begin and end, and which sounds interrupt an answer."""
