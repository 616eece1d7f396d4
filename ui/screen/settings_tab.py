"""Devices, models, voice and all other settings."""

from textual.containers import Container

from assistant.paths import Home
from assistant.settings import Loaded
from ui.session import Session


class SettingsTab(Container):
    def __init__(self, session: Session, home: Home, loaded: Loaded) -> None:
        super().__init__()
        self._session = session
        self._home = home
        self._loaded = loaded
