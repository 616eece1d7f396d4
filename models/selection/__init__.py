"""Which models suit this machine."""
