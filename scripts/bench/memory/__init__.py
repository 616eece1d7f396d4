"""Measures how the long-term memory recalls, stores and loads, compared with other stores."""
