"""Memories that are merged or superseded where rules allow it and a model confirms it, and how this
is undone; the model is scripted."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from assistant.compose.idle import JobResources, build_jobs
from assistant.context.conversation import Exchange
from assistant.errors import ModelFailed, StoreError
from assistant.idle.jobs.consolidation import ConsolidationJob, allowed, by_rules
from assistant.language.stemming import TextAnalyzer
from assistant.memory.admin import MemoryAdmin
from assistant.memory.curation.duplicates import may_be_merged
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.transcript.derived_outputs import DerivedOutputs
from assistant.settings import Idle, Settings
from tests.support import forgetting
from tests.support.forgetting import START, bench
from tests.support.memories import stored
from tests.support.remains import found
from tests.support.scripted_model import ScriptedModel

WALKS, FETCH = "My dog loves fetch and long walks", "My dog loves long walks and fetch"
OLD, NEW = "My address is 4 Mill Lane", "My address is 9 Mill Lane"
SAME, CHANGED, BOTH = (json.dumps({"verdict": each}) for each in ("same", "changed", "both"))


def told(text: str, day: int = 0, **other: Any) -> Memory:
    at = START + timedelta(days=day)
    memory = Memory(f"x{day}-user", "ada", MemoryKind.EXCHANGE, text, at, sources=(f"x{day}",))
    return replace(memory, **other)


# -- rules --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("older", "newer", "verdict"),
    [
        (WALKS, FETCH, "same"),
        (OLD, NEW, "changed"),
        ("I live in Leeds", "I live in York", "changed"),
        ("My boss is called Ingrid", "My boss is called Carla", "changed"),
        ("Paula owes me money", "I owe Paula money", None),
        ("My dog loves long walks", "My cat loves long walks", None),
        ("I have two dogs and a cat", "I have three dogs and a cat", None),
        ("My dog is allowed on the sofa", "My dog isn't allowed on the sofa", None),
        ("I work at the bakery", "I work at the station", None),
        ("I play tennis", "I play football", None),
        ("I used to live in Porto", "I live in Leeds", None),
        ("My sister is called Anna", "My sister is called Clara", None),
        ("I feel ill and tired today", "I feel tired and ill today", None),
        ("Do you know my dog Max?", "My dog is called Max", None),
    ],
)
def test_names_numbers_and_negations_decide_which_verdict_a_model_may_confirm(
    older: str, newer: str, verdict: str | None
) -> None:
    assert allowed(told(older), told(newer, 9), TextAnalyzer("en")) == verdict


def test_memories_that_the_user_marked_or_wrote_are_never_merged() -> None:
    assert may_be_merged(told(WALKS))
    for change in (
        {"pinned": True},
        {"separate": True},
        {"never_recall": True},
        {"superseded_by": "y"},
        {"sources": (ADDED_BY_USER,)},
        {"speaker": "assistant"},
        {"kind": MemoryKind.SUMMARY},
        {"kind": MemoryKind.FACT, "confidence": 1.0},
    ):
        assert not may_be_merged(told(WALKS, **change))
        for one, two in ((told(WALKS, **change), told(FETCH, 9)), (told(WALKS), told(FETCH, 9))):
            if one.id == "x0-user" and not may_be_merged(one):
                assert allowed(one, two, TextAnalyzer("en")) is None
    later = told(WALKS, 20)
    assert allowed(later, told(FETCH, 9), TextAnalyzer("en")) is None
    assert (
        by_rules(told("I'm vegetarian"), told("I am vegetarian", 9), TextAnalyzer("en")) == "same"
    )


# -- the work -----------------------------------------------------------------------------------


@dataclass
class Here:
    bench: forgetting.Bench
    llm: ScriptedModel
    work: ConsolidationJob

    async def tell(self, *said: str) -> list[Exchange]:
        exchanges = []
        for each in said:
            exchanges.append(self.bench.tell(each))
            self.bench.pass_time(3_600)
        await self.bench.memory.settled()
        return exchanges

    async def consolidate(self) -> None:
        await self.work.run(await self.work.missing(99))

    def said(self) -> dict[str, Memory]:
        return {e.text: e for e in stored(self.bench.memory.table) if e.speaker == "user"}

    def derived(self) -> list[object]:
        return list(DerivedOutputs(self.bench.transcript, "ada").of("consolidate").values())

    @property
    def desk(self) -> MemoryAdmin:
        return self.bench.desk


@asynccontextmanager
async def here(folder: Path, answers: Sequence[str | Exception] = (SAME,)) -> AsyncIterator[Here]:
    async with bench(folder) as session:
        llm = ScriptedModel(answers)
        work = ConsolidationJob(session.transcript, session.memory, llm, lambda: session.clock[0])
        yield Here(session, llm, work)


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Here]:
    async with here(tmp_path) as opened:
        yield opened


def fail(_: object) -> None:
    raise StoreError("There is no more room on the disk.")


async def test_a_statement_in_another_word_order_is_merged_and_can_be_split_again(at: Here) -> None:
    older, newer = await at.tell(WALKS, FETCH)
    await at.consolidate()
    assert at.work.asked == 1
    [kept] = at.said().values()
    assert (kept.text, kept.sources) == (WALKS, (older.id, newer.id))
    await asyncio.to_thread(at.desk.split, kept.id)
    assert set(at.said()) == {WALKS, FETCH}
    at.work.version = 2  # as after an update of the rules
    await at.consolidate()
    assert set(at.said()) == {WALKS, FETCH}


async def test_an_interrupted_merge_is_completed_and_counts_uses_once(
    at: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    older, newer = await at.tell(WALKS, FETCH)
    memory = at.bench.memory
    memory.mark_used([f"{newer.id}-user"], START)
    with monkeypatch.context() as patch:
        patch.setattr(memory, "delete", fail)
        with pytest.raises(StoreError):
            await at.consolidate()
    assert len(at.said()) == 2
    await at.consolidate()
    [kept] = at.said().values()
    assert (kept.text, kept.sources, kept.uses) == (WALKS, (older.id, newer.id), 1)
    assert len(at.derived()) == 2


async def test_a_changed_fact_is_superseded_and_can_be_split_again(tmp_path: Path) -> None:
    async with here(tmp_path, (CHANGED,)) as at:
        await at.tell(OLD, NEW)
        await at.consolidate()
        said = at.said()
        assert said[OLD].superseded_by == said[NEW].id
        assert said[NEW].supersedes == (said[OLD].id,)
        await asyncio.to_thread(at.desk.split, said[NEW].id)
        assert at.said()[OLD].superseded_by is None


@pytest.mark.parametrize("answer", [BOTH, CHANGED])
async def test_memories_stay_separate_if_the_model_does_not_confirm_the_verdict(
    tmp_path: Path, answer: str
) -> None:
    async with here(tmp_path, (answer,)) as at:
        await at.tell(WALKS, FETCH)
        await at.consolidate()
        assert set(at.said()) == {WALKS, FETCH}
        assert at.work.asked == 1
        assert await at.work.missing(9) == []


async def test_the_model_is_not_asked_about_pairs_that_the_rules_exclude(at: Here) -> None:
    await at.tell("I drink my tea with milk", "I drink my tea with no milk", "What's new?")
    await at.consolidate()
    assert (at.work.asked, len(at.said())) == (0, 3)
    assert len(at.derived()) == 3


async def test_a_memory_pinned_meanwhile_is_not_merged(at: Here) -> None:
    await at.tell(WALKS, FETCH)
    await asyncio.to_thread(at.desk.mark, at.said()[WALKS].id, pinned=True)
    await at.consolidate()
    assert set(at.said()) == {WALKS, FETCH}


async def test_an_unusable_answer_fails_the_job_and_changes_nothing(tmp_path: Path) -> None:
    async with here(tmp_path, ("", "[]", '{"verdict": "maybe"}', SAME)) as at:
        await at.tell(WALKS, FETCH)
        for _ in range(3):
            with pytest.raises(ModelFailed):
                await at.consolidate()
            assert set(at.said()) == {WALKS, FETCH}
        await at.consolidate()
        assert set(at.said()) == {WALKS}


async def test_a_forgotten_source_of_a_merge_leaves_no_trace(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        older, _ = await at.tell(WALKS, FETCH)
        await at.consolidate()
        await at.bench.forgetting.hide([older.id], ())
        assert await at.bench.purge_later()
        assert set(at.said()) == {FETCH}
        assert at.derived() == []
    assert found(tmp_path, {WALKS}, []) == []


async def test_the_settings_decide_whether_memories_are_consolidated(at: Here) -> None:
    bench, on = at.bench, Settings(idle=Idle(consolidate="on"))
    for settings, llm, jobs in ((on, at.llm, 1), (Settings(), at.llm, 0), (on, None, 0)):
        parts = JobResources(settings, bench.transcript, bench.memory, llm)
        built = build_jobs(parts)
        assert sum(isinstance(each, ConsolidationJob) for each in built) == jobs
