"""A skill on a real store in a real file, which a test commands and answers as the user would."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from assistant.events import Event
from assistant.intents import Command, CommandKind, Intent
from assistant.language.stemming import TextAnalyzer
from assistant.memory.transcript.database import Transcript
from assistant.skills.registry import SkillRegistry
from assistant.skills.skill import Skill
from assistant.state import EntryKind, StateStore

USER = "me"
START = datetime(2026, 11, 21, 10, tzinfo=UTC)


class Watching(Skill, Protocol):
    """A skill that receives events."""

    def watch(self, event: Event) -> None: ...


@dataclass
class SkillBench:
    """A skill, its store, and a clock that the test sets."""

    store: StateStore
    skill: Watching
    registry: SkillRegistry
    off_record: list[bool]
    clock: list[float]
    events: list[Event] = field(default_factory=list)

    async def obey(
        self,
        kind: CommandKind,
        words: str | None = None,
        name: str | None = None,
        *,
        sure: bool = True,
    ) -> str | None:
        """Carry out a command, or ask whether it is meant. Return what the assistant says."""
        command = Command(kind, words, name=name)
        reply = await self.registry.carry_out(Intent(command, sure))
        return reply.text if reply is not None else None

    async def undo(self) -> str | None:
        return await self.obey(CommandKind.UNDO)

    async def answer(self, text: str) -> str | None:
        """Answer the question that waits, as the voice loop does. Return None if the words are no
        answer to it."""
        act = self.registry.answer(text)
        if act is not None:
            return (await act()).text
        reply = await self.registry.said(text) if self.registry.takes_words(text) else None
        return reply.text if reply is not None else None

    def emit(self, event: Event) -> None:
        self.skill.watch(event)
        self.registry.watch(event)

    def contents(self, kind: EntryKind) -> list[dict[str, object]]:
        return [dict(each.content) for each in self.store.entries(kind)]


@contextmanager
def skill_bench(
    folder: Path,
    make: Callable[[StateStore, TextAnalyzer, Callable[[], bool], Callable[[], float]], Watching],
) -> Iterator[SkillBench]:
    off_record, clock = [False], [0.0]
    with closing(Transcript.open(folder / "transcript.db")) as transcript:
        ticks = iter(range(1_000_000))
        store = StateStore(
            transcript, USER, now=lambda: START + timedelta(milliseconds=next(ticks))
        )
        skill = make(store, TextAnalyzer("en"), lambda: off_record[0], lambda: clock[0])
        yield SkillBench(store, skill, SkillRegistry([skill]), off_record, clock)
