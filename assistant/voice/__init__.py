"""The spoken loop: devices, turns, and the pipeline from microphone to loudspeaker."""
