"""The settings tab: settings, devices, models."""
