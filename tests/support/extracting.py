"""A session in which facts are extracted; the model is scripted."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistant.context.conversation import Exchange
from assistant.events import Phase
from assistant.idle.activity import ActivityMonitor
from assistant.idle.jobs.fact_extraction import FactExtractionJob
from assistant.idle.scheduler import Scheduler
from assistant.memory.admin import MemoryAdmin
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.transcript.derived_outputs import DerivedOutputs
from assistant.memory.transcript.fact_rows import EXTRACTED
from assistant.memory.transcript.job_queue import JobQueue
from tests.support import forgetting
from tests.support.forgetting import bench
from tests.support.idling import SETTINGS, FakePolicy
from tests.support.memories import stored
from tests.support.scripted_model import ScriptedModel

SAID = "Oh by the way, my dog is called Maximilian, and I'm allergic to peanuts."
DOG = "The user's dog is called Maximilian."
PEANUTS = "The user is allergic to peanuts."
MUCH, SOME, NO = (json.dumps({"worth": worth}) for worth in ("much", "some", "no"))


@dataclass
class Here:
    """A session, and the job that extracts its facts."""

    bench: forgetting.Bench
    llm: ScriptedModel
    work: FactExtractionJob

    async def tell(self, said: str = SAID) -> Exchange:
        exchange = self.bench.tell(said)
        await self.bench.memory.settled()
        return exchange

    async def extract(self, *exchanges: Exchange) -> None:
        await self.work.run([each.id for each in exchanges])

    def facts(self) -> list[Memory]:
        every = stored(self.bench.memory.table)
        return [each for each in every if each.kind is not MemoryKind.EXCHANGE]

    def texts(self) -> set[str]:
        return {each.text for each in self.facts()}

    def derived(self) -> dict[str, Any]:
        return dict(DerivedOutputs(self.bench.transcript, "ada").of(EXTRACTED))

    @property
    def desk(self) -> MemoryAdmin:
        return self.bench.desk


@asynccontextmanager
async def here(
    folder: Path, answers: Sequence[str | Exception] = (MUCH,), waits: asyncio.Event | None = None
) -> AsyncIterator[Here]:
    async with bench(folder) as session:
        llm = ScriptedModel(answers, waits_for=waits)
        work = FactExtractionJob(session.transcript, session.memory, llm, lambda: session.clock[0])
        yield Here(session, llm, work)


def scheduler(at: Here, subject_s: float = 5.0) -> Scheduler:
    return Scheduler(
        [at.work],
        JobQueue(at.bench.transcript, "ada"),
        ActivityMonitor(Phase.LISTENING),
        FakePolicy(),
        SETTINGS,
        at.bench.events.append,
        subject_s=subject_s,
    )
