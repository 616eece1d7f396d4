"""Idle work with a real model stops when somebody speaks, and is done again later."""

import asyncio
import os
import signal
from pathlib import Path
from random import Random

import pytest

from assistant.memory.records.memory import MemoryKind
from assistant.memory.transcript.derived_outputs import DerivedOutputs
from assistant.memory.transcript.fact_rows import EXTRACTED
from assistant.paths import Home
from scripts.bench.idle_pending import fill
from scripts.bench.preemption import PATIENCE_S, Working, working
from tests.support.memories import stored

pytestmark = pytest.mark.real

USER = "me"


async def interrupted(home: Home, times: int) -> None:
    """Interrupt idle work `times` times, then let it finish."""
    chance = Random(3)
    async with working(home, "tiny", lambda _: None) as idle:
        for _ in range(times):
            await idle.interrupted(chance)
            assert idle.scheduler.running is None
            assert all(each.state != "dead" for each in idle.scheduler.queue.counts())
        assert len(idle.scheduler.yields) == times
        await empty(idle)
        all_is_done_once(idle)


def all_is_done_once(idle: Working) -> None:
    ids = idle.transcript.exchange_ids(USER)
    assert DerivedOutputs(idle.transcript, USER).of(EXTRACTED).keys() == ids
    facts = [each for each in stored(idle.memory.table, USER) if each.kind != MemoryKind.EXCHANGE]
    texts = [each.text for each in facts]
    assert len(set(texts)) == len(texts)
    assert {source for each in facts for source in each.sources} <= ids


async def empty(idle: Working) -> None:
    while await idle.scheduler.run_until_empty() or idle.scheduler.queue.counts():
        await asyncio.sleep(0.01)


async def test_idle_work_with_a_real_model_stops_and_is_done_again(home: Home) -> None:
    await asyncio.to_thread(fill, home, "tiny", 4)
    await interrupted(home, 1)


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
