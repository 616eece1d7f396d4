"""Builds the concrete parts of a running assistant from its settings."""
