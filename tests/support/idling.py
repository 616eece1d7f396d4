"""Fake idle work that a test controls."""

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from assistant.context.conversation import Conversation
from assistant.event_bus import EventBus
from assistant.events import Event, Phase, PhaseChanged
from assistant.idle.activity import ActivityMonitor
from assistant.idle.job import Job
from assistant.idle.load_policy import LoadPolicy, WorkAllowed
from assistant.idle.scheduler import Scheduler
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.job_queue import JobQueue
from assistant.settings import Idle
from tests.support.patience import PATIENCE_S

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)
SETTINGS = Idle(every_s=0.005, batch=2)


def talked(transcript: Transcript, count: int, user: str = "me") -> list[str]:
    """Store `count` exchanges in one conversation; returns their ids."""
    talk = Conversation.begin(user)
    for turn in range(1, count + 1):
        at = NOW - timedelta(hours=count - turn + 1)
        talk.append_user(turn, f"Saying {turn}.", at)
        transcript.store(talk, talk.complete(turn, "I see.", ended=at))
    return [exchange.id for exchange in talk.exchanges]


@dataclass
class FakeWork:
    """Produces output for subjects, one after the other, as far as the test allows it."""

    kind: str = "describe"
    priority: int = 50
    light: bool = False
    recurs: bool = False
    version: int = 1
    subjects: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    runs: list[tuple[str, ...]] = field(default_factory=list)
    errors: dict[str, BaseException] = field(default_factory=dict)
    """The error to raise for each subject; the key "" stands for `missing`."""
    holds: bool = False
    """Whether the work waits at the first subject until it is cancelled."""
    on_run: Callable[[], None] = lambda: None
    asked: int = 0
    running: int = 0
    cancelled: int = 0
    busy: asyncio.Event = field(default_factory=asyncio.Event)

    async def missing(self, limit: int) -> Sequence[str]:
        self.asked += 1
        if "" in self.errors:
            raise self.errors[""]
        return [each for each in self.subjects if each not in self.made][:limit]

    async def run(self, subjects: Sequence[str]) -> None:
        self.runs.append(tuple(subjects))
        self.running += 1
        self.on_run()
        try:
            for subject in subjects:
                self.busy.set()
                if self.holds:
                    await asyncio.Event().wait()
                await asyncio.sleep(0)
                if subject in self.errors:
                    raise self.errors[subject]
                if subject not in self.made:
                    self.made.append(subject)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1


class Watched:
    """A database connection that calls `before` with every statement before executing it."""

    def __init__(self, db: sqlite3.Connection, before: Callable[[str], None]) -> None:
        self._db = db
        self._before = before

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        self._before(statement)
        return self._db.execute(statement, *values)

    def executemany(self, statement: str, values: Iterable[Any]) -> sqlite3.Cursor:
        self._before(statement)
        return self._db.executemany(statement, values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)


def watch(transcript: Transcript, before: Callable[[str], None]) -> None:
    inside: Any = transcript
    inside._db = Watched(inside._db, before)


def copied(path: Path, folder: Path) -> Path:
    """A copy of the file as a process that is killed now would leave it."""
    folder.mkdir()
    for each in path.parent.glob(f"{path.name}*"):
        if not each.name.endswith("-shm"):
            shutil.copy(each, folder / each.name)
    return folder / path.name


class FakePolicy(LoadPolicy):
    def __init__(self) -> None:
        self.says = WorkAllowed.ALL

    async def allowed(self) -> WorkAllowed:
        return self.says


@dataclass
class Bench:
    """A quiet session in which only the queue and the scheduler are real."""

    transcript: Transcript
    works: list[FakeWork]
    settings: Idle = SETTINGS
    bus: EventBus = field(default_factory=EventBus)
    events: list[Event] = field(default_factory=list)
    policy: FakePolicy = field(default_factory=FakePolicy)
    now: datetime = NOW
    subject_s: float = 5.0

    def __post_init__(self) -> None:
        self.queue = JobQueue(self.transcript, "me")
        self.quiet = ActivityMonitor()
        kinds: list[Job] = [*self.works]
        self.scheduler = Scheduler(
            kinds,
            self.queue,
            self.quiet,
            self.policy,
            self.settings,
            self.bus.emit,
            now=lambda: self.now,
            subject_s=self.subject_s,
        )
        for listener in (self.quiet.watch, self.scheduler.watch, self.events.append):
            self.bus.subscribe(listener)
        self.bus.emit(PhaseChanged(Phase.LISTENING))

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def states(self) -> dict[tuple[str, str], int]:
        return {(each.kind, each.state): each.count for each in self.queue.counts()}


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[None]:
    task = asyncio.create_task(bench.scheduler.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await bench.scheduler.close()


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not true():
            await asyncio.sleep(0.001)
