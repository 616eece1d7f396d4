"""Watches a program and counts every attempt to leave this machine: who made it, and where to."""
