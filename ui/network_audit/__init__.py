"""Watches a program and counts every attempt to leave this machine: by which library, and to
where."""
