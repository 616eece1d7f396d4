"""The assistant itself. It runs headless; faces live in `ui`, neural models in `models`."""

from assistant.telemetry import switch_off

switch_off()
