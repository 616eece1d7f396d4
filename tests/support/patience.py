"""How long tests wait at most, even on a busy machine. Only a failing test waits that long."""

PATIENCE_S = 90.0
"""Seconds to wait for something that should happen immediately or within a few seconds."""
LEISURE_S = 60.0
"""Seconds: a deadline of recall that no encoder of these tests misses."""
