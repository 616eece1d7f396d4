"""A form that a test fills in as the user would, in a real store in a real file."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assistant.context import Exchange
from assistant.events import Event
from assistant.forms import FormLibrary, FormReader
from assistant.intents import Command, CommandKind
from assistant.memory.transcript.database import Transcript
from assistant.skills import FormActivity, Reply
from assistant.state import EntryKind, StateStore
from tests.support.slot_reader import MarkedReader

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
"""A Wednesday."""


@dataclass
class Desk:
    """The activity of a session, and what the test says to it. The words that give something to
    the form are marked as in `data/training/README.md`."""

    store: StateStore
    events: list[Event]
    reader: MarkedReader = field(default_factory=MarkedReader)
    off_record: list[bool] = field(default_factory=lambda: [False])
    number: int = 0

    def __post_init__(self) -> None:
        self.forms = self.session()

    def session(self) -> FormActivity:
        return FormActivity(
            FormLibrary(Path("/nonexistent")),
            self.store,
            lambda: self.off_record[0],
            FormReader(self.reader),
            now=lambda: NOW,
        )

    def is_open(self) -> bool:
        return self.forms.opened is not None

    def told(self) -> None:
        """Hand over the events, as the event bus does."""
        events, self.events[:] = list(self.events), []
        for each in events:
            self.forms.watch(each)

    async def open(self, name: str | None = None) -> Reply:
        reply = await self.forms.open(Command(CommandKind.FORM_OPEN, name=name))
        assert reply is not None
        self.told()
        return reply

    async def say(self, text: str) -> str | None:
        """Say something that the form may take. Return the reply, or None if the language model
        answers."""
        reply = await self.take(text)
        return reply.text if reply is not None else None

    async def take(self, text: str) -> Reply | None:
        act = await self.forms.takes(self.reader.mark(text))
        reply = await act() if act is not None else None
        self.told()
        return reply

    async def talk(self, text: str, answer: str = "") -> Exchange:
        """Say something that the language model answers."""
        self.number += 1
        said = self.reader.mark(text, talk=1.0)
        exchange = Exchange(f"x{self.number}", self.number, said, NOW, answer, False, NOW)
        await self.forms.hear(exchange)
        self.told()
        return exchange

    def values(self) -> dict[str, object]:
        slots = self.store.entries(EntryKind.SLOT)
        return {str(each.content["slot"]): each.content["value"] for each in slots}


@contextmanager
def form_desk(folder: Path) -> Iterator[Desk]:
    with closing(Transcript.open(folder / "transcript.db")) as transcript:
        ticks = iter(range(1_000_000))
        events: list[Event] = []
        now = datetime.now(UTC)
        store = StateStore(
            transcript, "me", events.append, lambda: now + timedelta(milliseconds=next(ticks))
        )
        yield Desk(store, events)
