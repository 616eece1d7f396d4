"""Trains adapters of the sentence encoders on `data/training`."""
