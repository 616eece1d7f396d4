"""A session for screens in which nothing happens but what a test tells."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from assistant.errors import StoreError
from assistant.events import Event
from assistant.settings import Settings
from ui.session import Ended, Heard, Request, Row

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class QuietSession:
    """Notes what it is asked for. `breaks`: it can't be started anew."""

    live = True

    def __init__(self, events: Sequence[Event] = (), *, breaks: bool = False) -> None:
        self.events = events
        self.breaks = breaks
        self.done: list[str] = []
        self.asked: list[dict[str, Any]] = []
        self.restarts: list[Settings] = []
        self.hear: Heard | None = None

    async def start(self, hear: Heard, ended: Ended) -> None:
        self.hear = hear
        for number, event in enumerate(self.events):
            hear(event, NOON + timedelta(seconds=number))

    def do(self, command: str) -> None:
        self.done.append(command)

    def say(self, text: str) -> None:
        self.done.append(f"say {text}")

    async def ask(self, request: Request) -> list[Row]:
        self.asked.append(dict(request))
        return []

    async def restart(self, settings: Settings) -> None:
        if self.breaks:
            raise StoreError("The assistant can't be started.")
        self.restarts.append(settings)

    async def close(self) -> None:
        """Nothing is open."""
