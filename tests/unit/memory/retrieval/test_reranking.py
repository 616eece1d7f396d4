"""Judging recalled memories: what answers the question comes first, and nothing is ever lost."""

import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from assistant.errors import ModelFailed, ModelMissing
from assistant.events import MemoryUsed
from assistant.memory.retrieval.reranking import ANSWERS, HELPS, LONGEST, MOST, Reranking

QUESTION = "What is my dog called?"


class Judge:
    """A `Reranker` that knows the probability of each memory."""

    def __init__(self, **shares: float) -> None:
        self.shares = shares
        self.asked: list[tuple[str, list[str]]] = []
        self.missing = False
        self.waits: threading.Event | None = None
        self.outdating: set[tuple[str, str]] = set()

    def load(self) -> None:
        if self.missing:
            raise ModelMissing("The model is missing.")

    def judge(self, question: str, memories: Sequence[str]) -> list[float]:
        if self.waits is not None:
            self.waits.wait(30)
        if not self.shares:
            raise ModelFailed("The model failed.")
        self.asked.append((question, list(memories)))
        return [self.shares[each] for each in memories]

    def outdated(self, question: str, older: str, newer: str) -> float:
        return 0.9 if (older, newer) in self.outdating else 0.1


def found(*scores: tuple[str, float]) -> tuple[MemoryUsed, ...]:
    return tuple(MemoryUsed(text, text, score) for text, score in scores)


Make = Callable[..., Reranking]


@pytest_asyncio.fixture
async def reranking() -> AsyncIterator[Make]:
    made: list[Reranking] = []

    def make(judge: Judge, **options: float) -> Reranking:
        made.append(Reranking(judge, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


async def test_what_answers_comes_first_and_only_that_is_near(reranking: Make) -> None:
    judge = Judge(cat=0.02, max=0.95, walk=HELPS)
    by = reranking(judge, timeout_s=30)
    await by.load()
    ranked = await by.ranked(QUESTION, found(("cat", 0.5), ("max", 0.8), ("walk", 0.7)))
    assert [(each.id, each.answers, each.near) for each in ranked] == [
        ("max", 0.95, True),
        ("walk", HELPS, True),
        ("cat", 0.02, False),
    ]
    assert judge.asked == [(QUESTION, ["cat", "max", "walk"])]


async def test_memories_that_answer_stay_in_the_order_of_the_search(reranking: Make) -> None:
    """Among thousands of statements, the search ranks the right one higher than the model does."""
    by = reranking(Judge(never=0.0, two=0.7, one=0.7, sure=1.0), timeout_s=30)
    await by.load()
    ranked = await by.ranked(
        QUESTION, found(("never", 1.5), ("two", 1.2), ("one", 0.6), ("sure", 0.5))
    )
    assert [each.id for each in ranked] == ["two", "one", "sure", "never"]


async def test_what_a_newer_statement_of_the_user_outdates_is_marked(reranking: Make) -> None:
    days = {"monday": 1, "tuesday": 2, "friday": 3, "where": 4, "assistant": 5}
    judge = Judge(monday=0.9, tuesday=0.95, friday=0.9, where=0.8, assistant=0.9)
    judge.outdating = {("monday", "tuesday"), ("monday", "friday"), ("tuesday", "friday")}
    judge.outdating |= {(day, "assistant") for day in days}
    by = reranking(judge, timeout_s=30)
    await by.load()
    ranked = await by.ranked(
        QUESTION,
        [
            MemoryUsed(
                text,
                text,
                1.0,
                speaker="assistant" if text == "assistant" else "user",
                said=datetime(2026, 11, day, tzinfo=UTC),
            )
            for text, day in days.items()
        ],
    )
    assert {each.id: each.outdated_by for each in ranked} == {
        "monday": "friday",
        "tuesday": "friday",
        "friday": None,
        "where": None,
        "assistant": None,
    }
    assert all(each.near for each in ranked), "the model mistakes additions for changes"


async def test_a_long_memory_is_judged_by_its_best_part(reranking: Make) -> None:
    lead, end = "I went on and on about the weather. " * 9, "My dog is called Biscuit."

    class Parts(Judge):
        def judge(self, question: str, memories: Sequence[str]) -> list[float]:
            assert all(len(each) <= LONGEST for each in memories)
            return [0.9 if end in each else 0.01 for each in memories]

    by = reranking(Parts(), timeout_s=30)
    await by.load()
    [one] = await by.ranked(QUESTION, [MemoryUsed("1", lead + end, 0.5)])
    assert (one.answers, one.near) == (0.9, True)


async def test_if_no_memory_is_likely_enough_none_is_near(reranking: Make) -> None:
    by = reranking(Judge(cat=0.02, max=ANSWERS - 0.001, walk=HELPS), timeout_s=30)
    await by.load()
    ranked = await by.ranked(QUESTION, found(("cat", 1.4), ("max", 0.8), ("walk", 0.7)))
    assert not any(each.near for each in ranked)


async def test_a_correction_stays_near(reranking: Make) -> None:
    by = reranking(Judge(no=0.0), timeout_s=30)
    await by.load()
    [kept] = await by.ranked(QUESTION, [MemoryUsed("no", "no", 0.9, corrects=True)])
    assert kept.near


async def test_the_last_of_very_many_are_not_judged_and_stay_behind(reranking: Make) -> None:
    names = [f"m{number}" for number in range(MOST + 2)]
    by = reranking(Judge(**dict.fromkeys(names, 0.05)), timeout_s=30)
    await by.load()
    memories = found(*((name, 1.0) for name in names))
    [*_, corrected] = await by.ranked(
        QUESTION, [*memories[:-1], replace(memories[-1], corrects=True)]
    )
    assert corrected.near
    ranked = await by.ranked(QUESTION, memories)
    assert [each.id for each in ranked] == names
    assert [each.answers for each in ranked[-2:]] == [None, None]
    assert not any(each.near for each in ranked)


@pytest.mark.parametrize("trouble", ["not loaded", "missing", "fails", "slow"])
async def test_without_a_judgement_the_memories_stay_as_they_are(
    reranking: Make, trouble: str
) -> None:
    judge = Judge() if trouble == "fails" else Judge(max=0.1)
    judge.missing = trouble == "missing"
    by = reranking(judge, timeout_s=0.01 if trouble == "slow" else 30)
    if trouble != "not loaded":
        await by.load()
    judge.waits = threading.Event() if trouble == "slow" else None
    memories = found(("max", 0.8))
    assert await by.ranked(QUESTION, memories) == memories
    if judge.waits is not None:
        judge.waits.set()


async def test_nothing_is_asked_without_memories_or_without_a_model(reranking: Make) -> None:
    judge = Judge(max=0.1)
    by = reranking(judge)
    await by.load()
    assert await by.ranked(QUESTION, ()) == ()
    assert judge.asked == []
    none = Reranking()
    await none.load()
    assert await none.ranked(QUESTION, found(("max", 0.8))) == found(("max", 0.8))
    none.close()
