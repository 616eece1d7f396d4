"""The assistant without a user interface. User interfaces are in `ui`, neural models in
`models`."""

from assistant.telemetry import switch_off

switch_off()
