"""The first start in a new home: microphone, models, recovery key."""
