"""A home in which all kinds of idle work run, with a real transcript, table and queue.

All kinds that `build_jobs` knows are switched on, whatever their settings are called, and a model
that answers any schema replaces the real one. So the same tests also cover kinds that are added
later. `TOLD` must give each kind something to do; `unit/idle/test_crash_recovery.py` fails if it
doesn't.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest

from assistant.compose.idle import JobResources, build_jobs
from assistant.context.conversation import Conversation
from assistant.events import Event, Phase
from assistant.idle.activity import ActivityMonitor
from assistant.idle.job import Job
from assistant.idle.jobs import compaction
from assistant.idle.scheduler import Scheduler
from assistant.memory.curation.curator import CurationPolicy
from assistant.memory.retrieval.vectors.tiers import Tiers
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.job_queue import BACKOFF, JobQueue
from assistant.memory.turn_recall import Archive
from assistant.memory.user_memory import UserMemory
from assistant.settings import Idle, Settings
from models.interfaces import LanguageModel
from tests.support.encoders import OtherHashing, SteeredEncoder
from tests.support.fitting_model import FittingModel
from tests.support.idling import FakePolicy, Watched
from tests.support.memories import exports
from tests.support.user_memory import user_memory

USER = "me"
START = datetime(2026, 11, 20, 18, tzinfo=UTC)
TOLD = (
    "My sister Clara lives in Porto, and I'm allergic to peanuts.",
    "What's the capital of Norway?",
    "My dog is called Maximilian.",
    "I've got a rehearsal with Jonas tomorrow.",
    "By the way, my dog is called Maximilian.",
    "I moved to Lisbon last month.",
)
UNTIDY = 4
"""Number of memories not yet merged into the index from which compaction is due."""
WRITES = ("INSERT", "UPDATE", "DELETE", "COMMIT")


def all_on() -> Settings:
    """Settings with every kind of idle work on, using a model wherever one is possible."""
    wanted: dict[str, Any] = {"every_s": 0.005, "batch": 2, "max_load": 1, "on_battery": "all"}
    for name, each in Idle.model_fields.items():
        if name in wanted:
            continue
        if each.annotation is bool:
            wanted[name] = True
        elif get_origin(each.annotation) is Literal:
            choices = get_args(each.annotation)
            wanted[name] = "model" if "model" in choices else choices[-1]
    return Settings.model_validate({"idle": wanted, "encryption": {"mode": "off"}})


@dataclass
class IdleHome:
    folder: Path
    transcript: Transcript
    memory: UserMemory
    llm: LanguageModel
    works: Sequence[Job]
    quiet: ActivityMonitor
    scheduler: Scheduler
    events: list[Event]
    clock: list[datetime]

    @property
    def queue(self) -> JobQueue:
        return self.scheduler.queue

    async def until_empty(self) -> None:
        """Run until the queue is empty, retrying failed work after its back-off."""
        for _ in range(3 * len(BACKOFF)):
            await self.scheduler.run_until_empty()
            if not any(each.state != "dead" for each in self.queue.counts()):
                return
            self.clock[0] += BACKOFF[-1]
            await self.scheduler.retry()

    async def state(self) -> dict[str, Any]:
        """Everything stored that must not depend on the order of work. Left out is what may differ:
        which words stand for a fact that was told several times, when rows were written, and what
        rating importance and consolidation produce."""
        await self.memory.settled()
        with self.transcript.reading() as db:
            derived = db.execute(
                "SELECT kind, subject, version, content, (SELECT group_concat(exchange) FROM"
                " (SELECT exchange FROM derived_source WHERE derived = number ORDER BY exchange))"
                " FROM derived WHERE kind NOT IN ('importance', 'consolidate') UNION ALL"
                " SELECT kind, subject, version, '', '' FROM derived WHERE kind = 'consolidate'"
                " ORDER BY kind, subject"
            ).fetchall()
        rows = exports(self.memory.table, USER)
        recalled = len(self.memory.index)
        assert recalled == len(rows), "RAM and disk hold the same memories"
        assert self.memory.index.without_vectors(1) == ([], [])
        assert self.memory.strengthening.missing() == 0
        return {
            "memories": sorted(
                (each["kind"], each["speaker"], each["text"], sorted(each["sources"]))
                for each in rows
            ),
            "derived": [tuple(row) for row in derived],
            "exchanges": sorted(self.transcript.exchange_ids(USER)),
            "waiting": self.queue.counts(),
        }


@asynccontextmanager
async def idle_home(
    folder: Path,
    llm: LanguageModel | None = None,
    *,
    subject_s: float = 60.0,
    settings: Settings | None = None,
    encoder: Any = None,
) -> AsyncIterator[IdleHome]:
    """A home that is opened as at the program's start, and closed as at its end."""
    settings = settings or all_on()
    llm = llm or FittingModel()
    events: list[Event] = []
    clock = [START + timedelta(days=1)]
    transcript = Transcript.open(folder / "transcript.sqlite3")
    memory = user_memory(
        folder / "memories",
        encoder or SteeredEncoder(),
        stronger=OtherHashing(),
        user=USER,
        emit=events.append,
        tiers=Tiers.of(settings.memory),
        policy=CurationPolicy.of(settings.memory),
    )
    await memory.load(transcript)
    await asyncio.to_thread(memory.strengthening.begin().result)
    works = build_jobs(JobResources(settings, transcript, memory, llm))
    quiet = ActivityMonitor(Phase.LISTENING)
    memory.give_way(lambda: not quiet.now)
    scheduler = Scheduler(
        works,
        JobQueue(transcript, USER),
        quiet,
        FakePolicy(),
        settings.idle,
        events.append,
        now=lambda: clock[0],
        subject_s=subject_s,
    )
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compaction, "FOLDED", UNTIDY)
            yield IdleHome(folder, transcript, memory, llm, works, quiet, scheduler, events, clock)
    finally:
        await scheduler.close()
        await memory.settled()
        await memory.close()
        transcript.close()


async def finished(folder: Path) -> dict[str, Any]:
    """The state after the next start has finished all work with a working model."""
    async with idle_home(folder) as home:
        await home.until_empty()
        return await home.state()


async def told(folder: Path, said: Sequence[str] = TOLD) -> None:
    """Create a home in which this was said and no idle work has run yet."""
    folder.mkdir(parents=True)
    async with idle_home(folder) as home:
        archive = Archive(home.transcript, home.memory)
        talk = Conversation.begin(USER)
        for turn, text in enumerate(said, 1):
            at = START + timedelta(seconds=10 * turn)
            talk.append_user(turn, text, at)
            archive.store(talk, talk.complete(turn, "I see.", ended=at))
        await home.memory.settled()
        first = [each.id for each in home.memory.index.outlines().values() if each.text == said[0]]
        change = partial(home.memory.change, first, lambda old: replace(old, feedback=1))
        await asyncio.to_thread(change)  # makes the work that rates importance raise it


# -- every write --------------------------------------------------------------------------------


@dataclass
class Writes:
    """Counts the moments before and after writes, and calls `act` at one of these moments.

    Args:
        at: the number of this moment, counted from 1; 0 for none.
    """

    at: int
    act: Callable[[], None]
    count: int = 0
    kinds: list[str] = field(default_factory=list)

    def reached(self, kind: str) -> None:
        self.count += 1
        self.kinds.append(kind)
        if self.count == self.at:
            self.act()


@contextmanager
def watched(home: IdleHome, writes: Writes) -> Iterator[None]:
    """Report to `writes` every changed row and every commit of the transcript's file, and the
    beginning and the end of every change of the table."""

    def statement(text: str) -> None:
        if text.lstrip().upper().startswith(WRITES):
            writes.reached(text.split()[0])

    adding = MemoryTable._adding

    @contextmanager
    def changed(table: MemoryTable) -> Iterator[Any]:
        writes.reached("table")
        with adding(table) as inside:
            yield inside
        writes.reached("table written")

    inside: Any = home.transcript
    plain = inside._db
    inside._db = Watched(plain, statement)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryTable, "_adding", changed)
        try:
            yield
        finally:
            inside._db = plain


def die() -> None:
    """Die as in a power cut, except that the system still flushes its buffers."""
    os.kill(os.getpid(), signal.SIGKILL)


async def work_on(folder: Path, at: int, kind: str | None = None) -> int:
    """Run one process's idle work, which dies at write `at`; returns the number of writes."""
    async with idle_home(folder) as home:
        writes = Writes(at, die)
        with watched(home, writes):
            await home.scheduler.run_until_empty(kind)
            await home.memory.settled()
        return writes.count


def in_child(folder: Path, at: int, kind: str | None, _say: object) -> None:
    asyncio.run(work_on(folder, at, kind))
