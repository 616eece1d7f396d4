"""The importance of memories, decided by rules: use and marks raise it, and disuse lowers it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.idle.jobs.importance import AGAIN, ImportanceJob
from assistant.language.speakers import ASSISTANT, USER
from assistant.memory.curation.importance import (
    LEAST,
    STEP,
    ImportanceRecord,
    importance_of,
    importance_record,
)
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.transcript.derived_outputs import DerivedOutputs
from tests.support.forgetting import Bench, bench
from tests.support.memories import stored

NOW = datetime(2026, 6, 1, tzinfo=UTC)
FRESH = Memory("e-user", "ada", MemoryKind.EXCHANGE, "i like rhubarb", NOW, importance=0.5)
OLD = replace(FRESH, created=NOW - timedelta(days=720))


def weighs(memory: Memory) -> float:
    return importance_of(memory, importance_record(memory, None), NOW)


# -- the rules ----------------------------------------------------------------------------------


def test_a_new_memory_has_its_initial_importance() -> None:
    assert weighs(FRESH) == 0.5
    assert weighs(replace(FRESH, speaker=ASSISTANT, importance=0.2)) == 0.2


def test_uses_marks_pins_and_repetitions_raise_importance() -> None:
    used = replace(OLD, uses=7, last_used=NOW)
    for better in (
        used,
        replace(OLD, feedback=1),
        replace(OLD, pinned=True),
        replace(OLD, sources=("e", "f")),
    ):
        assert weighs(better) > weighs(FRESH) > weighs(OLD)
    assert weighs(used) > weighs(replace(used, uses=1)) > weighs(OLD)
    assert weighs(replace(used, last_used=NOW - timedelta(days=720))) < weighs(used)


def test_marks_as_wrongly_recalled_lower_importance() -> None:
    assert weighs(replace(FRESH, feedback=-1)) < weighs(FRESH)


def test_specific_statements_fade_less() -> None:
    named = replace(OLD, text="i gave it to Rosamund")
    assert weighs(OLD) < weighs(named) < weighs(FRESH)


def test_importance_stays_within_bounds() -> None:
    most = replace(
        FRESH, uses=99, last_used=NOW, feedback=9, pinned=True, sources=tuple("abcdefgh")
    )
    assert weighs(replace(most, importance=0.9)) == 1.0
    assert weighs(replace(OLD, feedback=-9)) == pytest.approx(LEAST)
    assert weighs(replace(OLD, speaker=ASSISTANT, importance=0.2, feedback=-9)) == 0.2


def test_importance_never_falls_below_a_value_set_by_hand() -> None:
    assert weighs(replace(OLD, importance=0.75, feedback=-2)) == 0.75
    fact = replace(OLD, kind=MemoryKind.FACT, importance=0.6)
    assert weighs(fact) == pytest.approx(0.6)


def test_a_change_by_hand_is_distinguished_from_the_jobs_own_change() -> None:
    given = ImportanceRecord(0.5, by_hand=False, last=0.5, now=0.45)
    for own in (0.5, 0.45):  # the job may have been killed before writing the second value
        assert importance_record(replace(FRESH, importance=own), given) == given
    assert importance_record(replace(FRESH, importance=0.3), given) == ImportanceRecord(
        0.3, True, 0.3, 0.3
    )


def test_importance_does_not_depend_on_previous_results() -> None:
    memory = replace(OLD, uses=3, last_used=NOW)
    given = importance_record(memory, None)
    first = importance_of(memory, given, NOW)
    again = replace(memory, importance=first)
    assert importance_of(again, importance_record(again, replace(given, now=first)), NOW) == first


# -- the work -----------------------------------------------------------------------------------


@dataclass
class Here:
    bench: Bench
    work: ImportanceJob

    async def weigh(self) -> int:
        """Run until nothing is missing; returns the number of exchanges that were processed."""
        touched = 0
        while subjects := await self.work.missing(2):
            await self.work.run(subjects)
            touched += len(subjects)
        return touched

    def importance(self) -> dict[str, float]:
        table = self.bench.memory.table
        return {each.text: round(each.importance, 2) for each in stored(table)}


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Here]:
    async with bench(tmp_path) as session:
        yield Here(
            session, ImportanceJob(session.transcript, session.memory, lambda: session.clock[0])
        )


async def told(at: Here, *texts: str) -> list[str]:
    """Tell these texts; returns the ids of their memories."""
    ids = [f"{at.bench.tell(text).id}-{USER}" for text in texts]
    await at.bench.memory.settled()
    return ids


async def test_used_and_marked_memories_rise_and_ignored_ones_fade(at: Here) -> None:
    used, marked, _ = await told(at, "rhubarb is mine", "herons nest here", "the gate squeaks")
    assert await at.weigh() == 0
    at.bench.pass_time(400 * 86_400)
    now = at.bench.clock[0]
    await asyncio.to_thread(
        at.bench.memory.change,
        [used, marked],
        lambda old: (
            replace(old, uses=5, last_used=now) if old.id == used else replace(old, feedback=2)
        ),
    )
    assert await at.weigh() == 3
    weights = at.importance()
    assert weights["rhubarb is mine"] > 0.5
    assert weights["herons nest here"] > 0.5
    assert weights["the gate squeaks"] < 0.5
    outlines = at.bench.memory.index.outlines()
    assert {each.text: round(each.importance, 2) for each in outlines.values()} == weights


async def test_a_second_run_changes_nothing(at: Here) -> None:
    await told(at, "rhubarb is mine", "herons nest here", "the gate squeaks")
    at.bench.pass_time(400 * 86_400)
    assert await at.weigh() == 3
    once = at.importance()
    assert await at.weigh() == 0
    again = ImportanceJob(at.bench.transcript, at.bench.memory, lambda: at.bench.clock[0])
    assert await again.missing(9) == []
    at.bench.pass_time(AGAIN.total_seconds() + 1)
    assert await at.weigh() == 0
    assert at.importance() == once


async def test_importance_set_by_hand_lasts_and_can_only_rise(at: Here) -> None:
    [key] = await told(at, "rhubarb is mine")
    at.bench.pass_time(400 * 86_400)
    assert await at.weigh() == 1
    await asyncio.to_thread(at.bench.memory.change, [key], lambda old: replace(old, importance=0.7))
    for _ in range(3):
        at.bench.pass_time(400 * 86_400)
        await at.weigh()
    assert at.importance()["rhubarb is mine"] == pytest.approx(0.7)


async def test_a_kill_between_writing_the_record_and_the_memory_is_repaired(at: Here) -> None:
    [key] = await told(at, "rhubarb is mine")
    at.bench.pass_time(400 * 86_400)
    [subject] = await at.work.missing(9)
    assert await asyncio.to_thread(at.work._note, [subject])
    assert at.importance()["rhubarb is mine"] == 0.5
    again = ImportanceJob(at.bench.transcript, at.bench.memory, lambda: at.bench.clock[0])
    assert await again.missing(9) == [subject]
    await again.run([subject])
    faded = at.importance()["rhubarb is mine"]
    assert faded < 0.5
    await asyncio.to_thread(at.bench.memory.change, [key], lambda old: replace(old, feedback=2))
    await ImportanceJob(at.bench.transcript, at.bench.memory, lambda: at.bench.clock[0]).run(
        [subject]
    )
    assert at.importance()["rhubarb is mine"] == pytest.approx(0.5 + 4 * STEP)


async def test_the_importance_record_is_deleted_with_its_exchange(at: Here) -> None:
    [key] = await told(at, "rhubarb is mine")
    at.bench.pass_time(400 * 86_400)
    await at.weigh()
    exchange = key.removesuffix(f"-{USER}")
    derived = DerivedOutputs(at.bench.transcript, "ada")
    assert set(derived.of("importance")) == {exchange}
    await at.bench.forgetting.hide([exchange], ())
    assert await at.bench.purge_later()
    assert derived.of("importance") == {}
    await at.work.run([exchange])
    assert derived.of("importance") == {}
