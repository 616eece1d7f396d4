"""A session whose conversations are summarised; the model, if there is one, is scripted."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from assistant.context.conversation import Conversation, Exchange
from assistant.idle.jobs.summarisation import SummarisationJob
from assistant.memory.admin import MemoryAdmin
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.transcript.derived_outputs import DerivedOutputs
from assistant.memory.transcript.span_summaries import SUMMARISED
from tests.support import forgetting
from tests.support.forgetting import START, bench
from tests.support.memories import stored
from tests.support.scripted_model import ScriptedModel

TOLD = (
    "I moved to Lisbon in March.",
    "My dog is called Maximilian.",
    "How do I repot an orchid?",
    "The roof leaks over the back bedroom.",
)
LISBON = "The user moved to Lisbon in March."
DOG = "The user's dog is called Maximilian."
ORCHID = "How do I repot an orchid?"
ROOF = "The roof leaks over the back bedroom."
TURNS = 4
HOUR_S = 3_601


@dataclass
class Here:
    """A session and its summaries."""

    bench: forgetting.Bench
    llm: ScriptedModel | None
    work: SummarisationJob

    async def tell(self, *said: str) -> list[Exchange]:
        told = [self.bench.tell(each) for each in said or TOLD]
        await self.bench.memory.settled()
        return told

    async def sum_up(self) -> list[str]:
        subjects = await self.work.missing(99)
        await self.work.run(subjects)
        return list(subjects)

    def summaries(self) -> list[Memory]:
        return [e for e in stored(self.bench.memory.table) if e.kind is MemoryKind.SUMMARY]

    def texts(self) -> list[str]:
        return [each.text for each in self.summaries()]

    def derived(self) -> dict[str, str | None]:
        return dict(DerivedOutputs(self.bench.transcript, "ada").of(SUMMARISED))

    async def recalled(self, question: str) -> list[str]:
        found = await self.bench.memory.recall(question, 30)
        return [each.text for each in found.memories if each.kind is MemoryKind.SUMMARY]

    @property
    def desk(self) -> MemoryAdmin:
        return self.bench.desk


@asynccontextmanager
async def here(
    folder: Path,
    answers: Sequence[str | Exception] | None = None,
    waits: asyncio.Event | None = None,
    turns: int = TURNS,
) -> AsyncIterator[Here]:
    async with bench(folder, Conversation.begin("ada"), START) as session:
        llm = ScriptedModel(answers, waits_for=waits) if answers is not None else None
        work = SummarisationJob(
            session.transcript, session.memory, llm, turns, lambda: session.clock[0]
        )
        yield Here(session, llm, work)
