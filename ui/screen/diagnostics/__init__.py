"""The latency and log tabs."""
