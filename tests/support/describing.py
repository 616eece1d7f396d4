"""A test session whose idle work describes exchanges; the language model is scripted."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assistant.context.conversation import Conversation, Exchange
from assistant.idle.jobs.document_expansion import DocumentExpansionJob
from assistant.idle.jobs.expansion_prompt import EVERYTHING
from assistant.memory.retrieval.document_expansion import DESCRIBED
from assistant.memory.transcript.derived_outputs import DerivedOutputs
from tests.support import forgetting
from tests.support.forgetting import START, bench
from tests.support.scripted_model import ScriptedModel

SAID = "I walked round the lake with Ines, and we saw two herons there."
ABOUT = "The user strolled around water with Ines, who spotted birds."
QUESTION = "Who walked round the lake with Ines and saw wading birds there?"
OTHER = "The user has a fine kettle at home."


def made(about: str = ABOUT, *questions: str) -> str:
    return json.dumps({"about": about, "questions": list(questions or (QUESTION,))})


@dataclass
class Here:
    """A session, and the job that describes its exchanges."""

    bench: forgetting.Bench
    llm: ScriptedModel
    work: DocumentExpansionJob

    async def tell(self, said: str = SAID) -> Exchange:
        self.bench.pass_time(60)
        exchange = self.bench.tell(said)
        await self.bench.memory.settled()
        return exchange

    async def describe(self, *exchanges: Exchange) -> None:
        await self.work.run([each.id for each in exchanges])
        await self.bench.memory.settled()

    async def score(self, query: str, exchange: Exchange) -> float:
        """The highest cosine of the query with what was derived from the exchange; 0 if none of it
        is searched."""
        memory, own = self.bench.memory, np.full(1, np.nan, np.float32)
        rows = np.array([memory.index._columns.row_of[f"{exchange.id}-user"]])
        vector = memory.vectors([query])[0]
        [cosine] = memory.index._expansions.cosines(vector, rows, own)
        return float(np.nan_to_num(cosine))

    def derived(self) -> dict[str, Any]:
        return dict(DerivedOutputs(self.bench.transcript, "ada").of(DESCRIBED))

    def again(self, parts: tuple[str, ...], llm: ScriptedModel) -> DocumentExpansionJob:
        """The job as a later start would make it."""
        at = self.bench
        return DocumentExpansionJob(at.transcript, at.memory, llm, parts, lambda: at.clock[0])


@asynccontextmanager
async def here(
    folder: Path,
    answers: Sequence[str | Exception] = (made(),),
    waits: asyncio.Event | None = None,
    parts: tuple[str, ...] = EVERYTHING,
) -> AsyncIterator[Here]:
    async with bench(folder, Conversation.begin("ada"), START) as session:
        llm = ScriptedModel(answers, waits_for=waits)
        now = session.clock
        work = DocumentExpansionJob(session.transcript, session.memory, llm, parts, lambda: now[0])
        yield Here(session, llm, work)
