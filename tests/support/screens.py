"""A screen to drive with keys, without an assistant: the test sends the events."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from assistant.events import (
    Event,
    MemoriesRead,
    MicrophoneLevel,
    ModelsReady,
    Phase,
    PhaseChanged,
    SoundReady,
)
from assistant.ipc import Row
from assistant.paths import Home
from assistant.settings import Settings, load
from tests.support.pilots import until
from ui.screen.app import AssistantScreen
from ui.session.session import Ended, Heard

AT = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)

READY: tuple[Event, ...] = (
    ModelsReady({"stt": "tiny.en", "llm": "qwen", "tts": "joe"}),
    SoundReady("USB headset", None),
    MemoriesRead(1234),
    PhaseChanged(Phase.LISTENING),
    MicrophoneLevel(-20.0),
)


FACT: Row = {
    "id": "dog",
    "kind": "fact",
    "text": "A dog.",
    "pinned": False,
    "never_recall": False,
}
LISTED: Row = {"shown": 0, "total": 0, "offset": 0, "place": None, "version": "0"}
ANSWERS: dict[str, list[Row]] = {
    "list": [{"event": "listed", **LISTED}],
    "search": [{"event": "searched", "by_words_alone": False}],
    "version": [{"event": "version", "version": "0"}],
    "show": [{"event": "memory", **FACT}],
    "mark": [{"event": "marked", **FACT}],
    "edit": [{"event": "edited", **FACT}],
    "forget": [{"event": "forgetting"}],
    "undo": [{"event": "undone", "memories": ["m"], "exchanges": []}],
}
"""Answers by requested act; `test_told_session.py` compares them with those of a real memory."""


class ToldSession:
    """Emits the test's events, records the screen's requests, and answers with `answers`."""

    live = True

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self.done: list[str] = []
        self.said: list[str] = []
        self.asked: list[dict[str, Any]] = []
        self.answers = dict(ANSWERS)
        self.restarted: list[Settings] = []
        self.closed = False
        self._events = events
        self._hear: Heard | None = None

    @property
    def begun(self) -> bool:
        return self._hear is not None

    async def start(self, hear: Heard, ended: Ended) -> None:
        del ended
        self._hear = hear
        self.tell(*self._events)

    def tell(self, *events: Event) -> None:
        assert self._hear is not None
        for event in events:
            self._hear(event, AT)

    def do(self, command: str) -> None:
        self.done.append(command)

    def say(self, text: str) -> None:
        self.said.append(text)

    async def ask(self, request: Mapping[str, Any]) -> list[Row]:
        self.asked.append(dict(request))
        return self.answers.get(request["act"], [])

    def has_asked(self, request: Mapping[str, Any]) -> bool:
        """Whether this was the last request."""
        return self.asked[-1:] == [dict(request)]

    async def restart(self, settings: Settings) -> None:
        self.restarted.append(settings)

    async def close(self) -> None:
        self.closed = True


def screen(session: ToldSession, folder: Path) -> AssistantScreen:
    """A screen with the settings of a home in `folder`, which need not exist."""
    home = Home(folder)
    return AssistantScreen(session, home, load(home.settings_file, environment={}))


@asynccontextmanager
async def opened(
    session: ToldSession, folder: Path, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[AssistantScreen, Pilot[int]]]:
    app = screen(session, folder)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: session.begun)
        await settled(pilot)
        yield app, pilot


async def settled(pilot: Pilot[int]) -> None:
    """Return once all events are drawn."""
    app = pilot.app
    assert isinstance(app, AssistantScreen)
    await until(pilot, lambda: app.up_to_date)
