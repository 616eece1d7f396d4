"""Watches a program, and counts every attempt to reach another machine, by library and target."""
