"""Builds what changes the key of a home."""

from assistant.encryption import Rekeying
from assistant.memory import HomeStores
from assistant.paths import Home
from assistant.settings import Settings


def build_rekeying(home: Home, settings: Settings) -> Rekeying:
    return Rekeying(home, settings, HomeStores(home, settings))
