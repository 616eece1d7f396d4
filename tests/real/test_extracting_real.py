"""Facts from what a user said, judged by the smallest real model."""

from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.events import Phase
from assistant.idle.extracting import Extracting
from assistant.idle.policy import Policy
from assistant.idle.queue import JobQueue
from assistant.idle.quiet import Quiet
from assistant.idle.scheduler import Scheduler
from assistant.memory.facts import EXTRACTED, read
from assistant.memory.record import Kind
from assistant.on_demand import OnDemand
from assistant.settings import Idle
from models.llama import LlamaCpp
from tests.support.forgetting import bench
from tests.support.language import tiny_gguf
from tests.support.memories import stored

pytestmark = pytest.mark.real

SAID = (
    "My sister Clara lives in Porto, and I'm allergic to peanuts.",
    "What's the capital of Norway?",
)


async def test_a_real_model_judges_and_only_what_was_said_is_remembered(tmp_path: Path) -> None:
    llm = OnDemand(lambda: LlamaCpp(tiny_gguf(), context_tokens=2048))
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        told = [here.tell(said) for said in SAID]
        await here.memory.settled()
        work = Extracting(here.transcript, here.memory, llm)
        scheduler = Scheduler(
            [work],
            JobQueue(here.transcript, "ada"),
            Quiet(Phase.LISTENING),
            Policy(Idle()),
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
        remembered = [each for each in stored(here.memory.table) if each.kind is not Kind.EXCHANGE]
        assert {each.text for each in remembered} == {fact["text"] for fact in facts}
        assert work.kind == EXTRACTED
        assert llm.name
