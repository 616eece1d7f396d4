"""Timers, alarms and reminders by clocks that a test sets, and a ringer that it hears."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from assistant.events import Event
from assistant.intents.command import Command, CommandKind, Intent
from assistant.memory.transcript.database import Transcript
from assistant.skills.due.clocks import Clocks
from assistant.skills.due.due import DueWatch
from assistant.skills.due.due_entries import DueEntries
from assistant.skills.registry import SkillRegistry
from assistant.skills.skill import Skill
from assistant.state import EntryKind, StateStore

LONDON = ZoneInfo("Europe/London")
START = datetime(2026, 11, 18, 10, 20, tzinfo=UTC)
"""A Wednesday, in winter time."""
STEP_S = 10.0
HOUR_S = 3600.0


@dataclass
class HandSet:
    """Clocks that a test sets."""

    now: datetime = START
    steady: float = 5000.0
    zone: ZoneInfo = LONDON

    def clocks(self) -> Clocks:
        return Clocks(lambda: self.now, lambda: self.steady, lambda: self.zone)

    def pass_(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.steady += seconds


@dataclass
class Heard:
    """A ringer that says all words immediately, or none if nobody `hears` it.

    What rings insistently is said `times` times, and heard as often, or only `heard` times if that
    is set. `rang` holds what was said, and whether it was insistent. `before` is called before the
    words are said, and `after` afterwards.
    """

    rang: list[tuple[str, bool]] = field(default_factory=list)
    hears: bool = True
    silenced: int = 0
    times: int = 1
    heard: int | None = None
    before: Callable[[], object] = lambda: None
    after: Callable[[], object] = lambda: None

    async def ring(self, words: Callable[[], str | None], *, insistent: bool) -> int:
        for called in range(self.times if insistent else 1):
            self.before()
            text = words()
            if text is None or not self.hears:
                return called
            self.rang.append((text, insistent))
            self.after()
        return self.times if self.heard is None else self.heard

    def silence(self) -> bool:
        self.silenced += 1
        return False


class Bench:
    """A user's timers, alarms and reminders in a real store, the skills and the watch."""

    def __init__(
        self, path: Path, make: Callable[[DueWatch, Callable[[], bool]], Sequence[Skill]]
    ) -> None:
        self.set_by_hand = HandSet()
        self.transcript = Transcript.open(path)
        self.events: list[Event] = []
        self.ringer = Heard()
        self.off_record = False
        self.restart(make)

    def restart(self, make: Callable[[DueWatch, Callable[[], bool]], Sequence[Skill]]) -> None:
        """Begin a new session with the same store."""
        store = StateStore(self.transcript, "ada", self._emit, lambda: self.set_by_hand.now)
        entries = DueEntries(store, self.set_by_hand.clocks())
        self.store = store
        self.watch = DueWatch(entries, self.ringer, self.events.append)
        self.skills = SkillRegistry(make(self.watch, lambda: self.off_record))

    def _emit(self, event: Event) -> None:
        self.events.append(event)
        self.watch.watch(event)

    async def say(
        self,
        kind: CommandKind,
        words: str | None = None,
        *,
        when: str | None = None,
        name: str | None = None,
        every: bool = False,
        sure: bool = True,
    ) -> str | None:
        command = Command(kind, words, when=when, name=name, every=every)
        reply = await self.skills.carry_out(Intent(command, sure))
        return reply.text if reply is not None else None

    async def answer(self, text: str) -> str | None:
        """Answer the question that waits; None if these words are no answer."""
        act = self.skills.answer(text)
        if act is not None:
            return (await act()).text
        reply = await self.skills.said(text) if self.skills.takes_words(text) else None
        return reply.text if reply is not None else None

    async def undo(self) -> str | None:
        return await self.say(CommandKind.UNDO)

    async def wait(self, seconds: float) -> list[str]:
        """Let time pass, with a look at the clock every ten seconds. If it takes an hour or more,
        time jumps to the next moment at which something is due. Return what rang."""
        before, end = len(self.ringer.rang), self.set_by_hand.steady + seconds
        await self.watch.check()
        while (left := end - self.set_by_hand.steady) > 0:
            quiet = self.watch._next_s(left) if seconds >= HOUR_S else 0.0
            self.set_by_hand.pass_(min(max(STEP_S, quiet), left))
            await self.watch.check()
        return [text for text, _ in self.ringer.rang[before:]]

    def contents(self, kind: EntryKind) -> list[dict[str, object]]:
        return [dict(each.content) for each in self.store.entries(kind)]
