"""The smallest real model judges facts from what a user said."""

from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.events import Phase
from assistant.idle.activity import ActivityMonitor
from assistant.idle.jobs.fact_extraction import FactExtractionJob
from assistant.idle.load_policy import LoadPolicy
from assistant.idle.scheduler import Scheduler
from assistant.memory.records.memory import MemoryKind
from assistant.memory.transcript.fact_rows import EXTRACTED, read
from assistant.memory.transcript.job_queue import JobQueue
from assistant.settings import Idle
from models.llm.lazy import LazyLanguageModel
from models.llm.llama import LlamaCpp
from tests.support.forgetting import bench
from tests.support.language import tiny_gguf
from tests.support.memories import stored

pytestmark = pytest.mark.real

SAID = (
    "My sister Clara lives in Porto, and I'm allergic to peanuts.",
    "What's the capital of Norway?",
)


async def test_a_real_model_judges_facts_and_only_spoken_facts_are_remembered(
    tmp_path: Path,
) -> None:
    llm = LazyLanguageModel(lambda: LlamaCpp(tiny_gguf(), context_tokens=2048))
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        told = [here.tell(said) for said in SAID]
        await here.memory.settled()
        work = FactExtractionJob(here.transcript, here.memory, llm)
        scheduler = Scheduler(
            [work],
            JobQueue(here.transcript, "ada"),
            ActivityMonitor(Phase.LISTENING),
            LoadPolicy(Idle()),
            Idle(),
            here.events.append,
        )
        try:
            assert await scheduler.run_until_empty() == len(SAID)
        finally:
            await scheduler.close()
            await llm.close()
        assert await work.missing(9) == []
        found = read(here.transcript, "ada", [each.id for each in told])
        assert sorted(found) == sorted(each.id for each in told)
        assert found[told[1].id] == []
        facts = [fact for each in found.values() for fact in each if fact is not None]
        assert {fact["text"] for fact in facts} <= {
            "The user's sister Clara lives in Porto.",
            "The user is allergic to peanuts.",
        }
        remembered = [
            each for each in stored(here.memory.table) if each.kind is not MemoryKind.EXCHANGE
        ]
        assert {each.text for each in remembered} == {fact["text"] for fact in facts}
        assert work.kind == EXTRACTED
        assert llm.name
