"""Measures how long the assistant takes, and how much of the machine it uses."""
