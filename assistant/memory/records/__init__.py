"""The types and ids that all of memory shares."""
