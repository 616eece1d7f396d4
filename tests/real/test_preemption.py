"""Idle work with a real model, which judges facts from what a user said. It stops when somebody
speaks, and is done again later."""

import asyncio
import os
import signal
from pathlib import Path
from random import Random

import pytest

from assistant.memory.records.memory import MemoryKind
from assistant.memory.transcript.derived_outputs import DerivedOutputs
from assistant.memory.transcript.fact_rows import EXTRACTED, read
from assistant.paths import Home
from scripts.bench.idle_pending import fill, store
from scripts.bench.preemption import PATIENCE_S, Working, working
from tests.support.memories import stored

pytestmark = pytest.mark.real

USER = "me"
SAID = (
    "My sister Clara lives in Porto, and I'm allergic to peanuts.",
    "What's the capital of Norway?",
)
FACTS = {"The user's sister Clara lives in Porto.", "The user is allergic to peanuts."}


async def interrupted(home: Home, times: int) -> tuple[dict[str, set[str]], set[str]]:
    """Interrupt idle work `times` times, then let it finish. Returns the facts, by what was said,
    and the texts of the facts that are remembered."""
    chance = Random(3)
    async with working(home, "tiny", lambda _: None) as idle:
        for _ in range(times):
            await idle.interrupted(chance)
            assert idle.scheduler.running is None
            assert all(each.state != "dead" for each in idle.scheduler.queue.counts())
        assert len(idle.scheduler.yields) == times
        await empty(idle)
        remembered = all_is_done_once(idle)
        ids = idle.transcript.exchange_ids(USER)
        facts = read(idle.transcript, USER, ids)
        return {
            each.user_text: {fact["text"] for fact in facts[each.id] if fact is not None}
            for _, each in idle.transcript.exchanges(USER, ids)
        }, remembered


def all_is_done_once(idle: Working) -> set[str]:
    """Returns the texts of the facts that are remembered."""
    ids = idle.transcript.exchange_ids(USER)
    assert DerivedOutputs(idle.transcript, USER).of(EXTRACTED).keys() == ids
    facts = [each for each in stored(idle.memory.table, USER) if each.kind != MemoryKind.EXCHANGE]
    texts = [each.text for each in facts]
    assert len(set(texts)) == len(texts)
    assert {source for each in facts for source in each.sources} <= ids
    return set(texts)


async def empty(idle: Working) -> None:
    while await idle.scheduler.run_until_empty() or idle.scheduler.queue.counts():
        await asyncio.sleep(0.01)


async def test_idle_work_stops_and_is_done_again_and_only_spoken_facts_are_remembered(
    home: Home,
) -> None:
    await asyncio.to_thread(store, home, "tiny", SAID)
    facts, remembered = await interrupted(home, 1)
    statement, question = SAID
    assert facts.keys() == {statement, question}
    assert facts[question] == set()
    assert remembered
    assert facts[statement] == remembered <= FACTS


@pytest.mark.long
async def test_a_model_killed_during_idle_work_is_restarted_and_its_work_is_done(
    home: Home,
) -> None:
    await asyncio.to_thread(fill, home, "tiny", 4)
    async with working(home, "tiny", lambda _: None) as idle:
        killed: set[int | None] = {None}
        await idle.begun()
        for _ in range(2):
            async with asyncio.timeout(PATIENCE_S):
                while idle.llm.worker_pid in killed:
                    await asyncio.sleep(0.01)
            worker = idle.llm.worker_pid
            assert worker is not None
            killed.add(worker)
            os.kill(worker, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE_S):
            await empty(idle)
        assert idle.llm.worker_pid not in killed
        all_is_done_once(idle)


@pytest.mark.long
async def test_idle_work_that_is_stopped_two_hundred_times_loses_and_repeats_nothing(
    home: Home, tmp_path: Path
) -> None:
    await asyncio.to_thread(fill, home, "tiny", 150)
    await interrupted(home, 200)
