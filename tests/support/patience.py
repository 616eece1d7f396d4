"""How long tests wait on a busy machine. Only a failing test waits so long."""

PATIENCE_S = 90.0
"""For what should happen at once, or in some seconds."""
LEISURE_S = 60.0
"""A deadline of recall that no encoder of these tests misses."""
