"""Devices, streams, resampling, echo, and audio files in their place."""
