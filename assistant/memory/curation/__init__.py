"""Keeping memories clean: duplicates, conflicts, importance, expiry, facts."""
