"""A session in which a task is talked about, on a real store in a real file."""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assistant.context import Conversation, Exchange
from assistant.intents import Command, CommandKind, Intent
from assistant.language.stemming import TextAnalyzer
from assistant.memory import StoredStatement, Transcript
from assistant.skills.activities.activities import Activities
from assistant.skills.activities.task_activity import TaskActivity
from assistant.skills.registry import SkillRegistry
from assistant.state import EntryKind, StateStore

START = datetime(2026, 11, 16, 10, tzinfo=UTC)
TRIP = "plan the trip to Lisbon"


@dataclass
class Memory:
    """Keeps what was remembered, in place of the long-term memory."""

    texts: dict[str, str] = field(default_factory=dict)

    async def remember(self, words: str) -> StoredStatement:
        key = f"m{len(self.texts)}"
        self.texts[key] = words
        return StoredStatement((key,), (key,))

    async def take_back(self, stored: StoredStatement) -> bool:
        return all(self.texts.pop(key, None) is not None for key in stored.memories)

    async def text_of(self, memories: Collection[str]) -> str:
        return next((self.texts[key] for key in memories if key in self.texts), "")


class Session:
    """A session in which a task can be talked about, with a clock that the test sets."""

    def __init__(self, transcript: Transcript) -> None:
        self.now = START
        self.off_record = False
        self.memory = Memory()
        self.clock: Callable[[], datetime] = lambda: self.now
        self.store = StateStore(transcript, "me", now=self._time)
        self.activity = TaskActivity(
            self.store,
            TextAnalyzer("en"),
            lambda: self.off_record,
            self.memory,
            lambda: self.now,
        )
        skill = Activities([self.activity], lambda: Conversation.begin("me"), _now, _ignored)
        self.registry = SkillRegistry([skill])
        self.turns = 0

    def _time(self) -> datetime:
        return self.clock()

    async def obey(self, kind: CommandKind, name: str | None = None, *, sure: bool = True) -> str:
        reply = await self.registry.carry_out(Intent(Command(kind, name=name), sure))
        return reply.text if reply is not None else ""

    async def answer(self, text: str) -> str:
        act = self.registry.answer(text)
        if act is not None:
            return (await act()).text
        reply = await self.registry.said(text) if self.registry.takes_words(text) else None
        return reply.text if reply is not None else ""

    async def talk(self, *said: str) -> None:
        """Say utterances and what the model answers, in turn."""
        for user, assistant in zip(said[::2], (*said[1::2], "")[: len(said[::2])], strict=True):
            await self.activity.hear(self.exchange(user, assistant))

    def exchange(self, user: str, assistant: str = "") -> Exchange:
        self.turns += 1
        self.now += timedelta(seconds=20)
        self.registry.turn_began()
        return Exchange(f"x{self.turns}", self.turns, user, self.now, assistant, ended=self.now)

    def lines(self) -> list[str]:
        return [str(each.content["text"]) for each in self.store.entries(EntryKind.LINE)]


async def _now() -> None:
    pass


def _ignored(remark: object) -> None:
    del remark


@asynccontextmanager
async def session(folder: Path) -> AsyncIterator[Session]:
    with closing(Transcript.open(folder / "transcript.db")) as transcript:
        here = Session(transcript)
        await here.activity.load()
        yield here
