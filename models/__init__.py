"""Every neural model: the catalogue, the download, and one adapter file for each engine."""

from assistant.telemetry import switch_off

switch_off()
