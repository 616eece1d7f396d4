"""The end of the log."""

from textual.containers import Container

from assistant.paths import Home


class LogsTab(Container):
    def __init__(self, home: Home) -> None:
        super().__init__()
        self._home = home
