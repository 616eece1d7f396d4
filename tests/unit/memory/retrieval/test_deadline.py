"""Searches within a deadline, and what they find if there is too little time."""

import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from assistant.memory.records.memory import MemoryKind
from assistant.memory.retrieval.deadline import (
    LAST,
    LEAST_S,
    MOST,
    SHARES,
    SearchDeadline,
    SearchTimings,
    StepTimes,
)
from assistant.memory.retrieval.question import read_question
from assistant.memory.retrieval.user_index import UserIndex
from tests.support.memories import turn
from tests.support.patience import PATIENCE_S
from tests.support.user_memory import user_index

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LOOKS = {"lock": 3, "words": 4, "meaning": 5}
"""How often a search has looked at the clock by the end of each step."""


class Clock:
    """Stands still until a test moves it."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def search(
    pace: SearchTimings,
    clock: Clock,
    seconds: float,
    deadline: float = 9e9,
    *,
    meaning: bool = True,
) -> str:
    """Takes `seconds` unless it is cut short; returns the steps that were carried out."""
    limit = pace.limit(clock.now + deadline)
    clock.now += SHARES.words * seconds
    if limit.after_words(meaning=meaning) and meaning:
        clock.now += SHARES.meaning * seconds
        limit.after_meaning()
    clock.now += (SHARES.brief if limit.cut else SHARES.ranking) * seconds
    pace.over(limit)
    return " ".join(limit.took)


WHOLE = "words meaning ranking"
BRIEF = "words meaning brief"
WORDS = "words"


def test_the_reserve_follows_the_usual_time_of_a_search(clock: Clock) -> None:
    pace = SearchTimings(0.003, clock)
    first = pace.reserve(0.010)
    assert 0.003 < first < 0.005
    assert LEAST_S < pace.least(0.010) < first, "a brief search takes less"
    for _ in range(LAST):
        assert search(pace, clock, 0.001) == WHOLE
    as_a_rule = pace.reserve(0.010)
    assert 0.001 < as_a_rule < 0.002
    for _ in range(LAST // 4):
        search(pace, clock, 0.2)
    assert pace.reserve(0.010) == pytest.approx(as_a_rule), (
        "a few slow searches only waited for the processor"
    )
    for _ in range(LAST):
        search(pace, clock, 0.2)
    assert pace.reserve(0.010) == MOST * 0.010
    assert pace.least(0.010) == MOST * 0.010


def test_after_a_slow_moment_searches_are_soon_complete_again(clock: Clock) -> None:
    for slow in (0.02, 0.05, 1.0):
        pace = SearchTimings(0.003, clock)
        for _ in range(LAST):
            search(pace, clock, slow)
        steps = [search(pace, clock, 0.003, 0.006) for _ in range(2 * LAST + 2)]
        assert steps[0] == WORDS
        assert steps[-1] == WHOLE, slow


def test_the_reserve_shrinks_again_even_if_no_vector_arrives_in_time(clock: Clock) -> None:
    pace = SearchTimings(0.003, clock)
    for _ in range(LAST):
        search(pace, clock, 1.0)
    assert pace.reserve(0.010) == MOST * 0.010, "so long that an encoder may always be late"
    for _ in range(LAST):
        search(pace, clock, 0.003, 0.010, meaning=False)
    assert pace.least(0.010) < 0.005
    assert search(pace, clock, 0.003, 0.006) == WHOLE


def test_a_step_that_never_fits_is_tried_less_and_less_often(clock: Clock) -> None:
    pace = SearchTimings(0.001, clock)
    for _ in range(LAST):
        search(pace, clock, 0.02, 9.0)
    steps = [search(pace, clock, 0.02, 0.0195) for _ in range(2_000)]
    assert 0 < 2_000 - steps.count(BRIEF) < 20
    assert set(steps) == {BRIEF, WHOLE}


def test_without_a_vector_only_the_ranking_must_fit(clock: Clock) -> None:
    for due, allowed in ((4.0, True), (3.9, False)):
        clock.now = 0.0
        limit = SearchDeadline(due, StepTimes(1.0, 9.0, 3.0, 2.0), clock)
        clock.now = 1.0
        assert limit.after_words(meaning=False) is allowed
        limit.over()
        assert not limit.brief


def test_steps_that_do_not_fit_are_skipped(clock: Clock) -> None:
    """Steps of 1, 4, 3 and 2 seconds."""
    expected = StepTimes(1.0, 4.0, 3.0, 2.0)
    for due, steps in ((8.0, WHOLE), (7.9, BRIEF), (7.0, BRIEF), (6.9, WORDS), (0.5, WORDS)):
        clock.now = 0.0
        limit = SearchDeadline(due, expected, clock)
        clock.now = 1.0
        if limit.after_words(meaning=True):
            clock.now = 5.0
            limit.after_meaning()
        limit.over()
        assert " ".join(limit.took) == steps, due
        assert limit.cut is (steps != WHOLE)
        assert (limit.brief, limit.too_late) == (steps == BRIEF, steps == WORDS)


@pytest.fixture(params=["by meaning", "by words"])
def cut(request: pytest.FixtureRequest, clock: Clock) -> Callable[[], SearchDeadline]:
    """A deadline that leaves no time to rank the results, or none to search by meaning."""
    steps = StepTimes(ranking=1.0) if request.param == "by meaning" else StepTimes(meaning=1.0)
    return lambda: SearchDeadline(clock.now, steps, clock)


# -- the search itself --------------------------------------------------------------------------


SAID = tuple(
    turn(number, text, NOW - timedelta(days=100 - number), conversation=f"c{number}", **more)
    for number, (text, more) in enumerate(
        (
            ("My dog Max loves fetch.", {}),
            ("I live in Ghent.", {"superseded_by": "m2"}),
            ("I live in Lisbon.", {}),
            ("It rained all day.", {}),
        )
    )
)


@pytest.fixture
def index() -> UserIndex:
    made = user_index(2)
    made.add(SAID, np.eye(2, dtype=np.float32)[[0, 1, 1, 0]])
    return made


def find(
    index: UserIndex, text: str, limit: SearchDeadline | None, exclude: tuple[str, ...] = ()
) -> list[str]:
    vector = np.array([0, 1] if "live" in text else [1, 0], np.float32)
    question = read_question(text, ())
    found = index.search(question, vector, k=4, now=NOW, exclude=exclude, limit=limit)
    return [each.id for each in found]


def runs_out(after: int) -> Callable[[], float]:
    """A clock that is past any limit once it has been read `after` times."""
    looks: Iterator[float] = itertools.chain([0.0] * after, itertools.repeat(9.0))
    return lambda: next(looks)


@pytest.mark.parametrize(
    ("last", "expected", "state"),
    [
        ("lock", ["m0"], (True, False)),
        ("words", ["m0", "m3"], (True, True)),
        ("meaning", None, (False, True)),
    ],
)
def test_a_search_past_its_limit_uses_the_results_it_has(
    index: UserIndex, last: str, expected: list[str] | None, state: tuple[bool, bool]
) -> None:
    """`last` is the last step completed in time; the last row is near only in meaning."""
    limit = SearchDeadline(1.0, StepTimes(), runs_out(LOOKS[last]))
    whole = find(index, "What does Max the dog love?", None)
    found = find(index, "What does Max the dog love?", limit)
    assert found == whole if expected is None else found[:2] == expected
    assert (limit.cut, limit.by_meaning) == state
    assert "m3" in whole


def first(found: list[str], *wanted: str) -> bool:
    """Whether the wanted ids come first; if meaning counts, others follow them."""
    return found[: len(wanted)] == list(wanted)


def test_a_brief_search_ranks_a_superseded_memory_after_its_successor(
    index: UserIndex, cut: Callable[[], SearchDeadline]
) -> None:
    assert first(find(index, "Where do I live?", cut()), "m2", "m1")
    assert first(find(index, "Where did I live in Ghent?", cut()), "m2", "m1")
    index.update(replace(SAID[2], text="We moved to Lisbon."))
    assert first(find(index, "Where do I live?", cut()), "m2", "m1")


def test_a_brief_search_finds_no_hidden_expired_or_already_shown_memory(
    index: UserIndex, cut: Callable[[], SearchDeadline]
) -> None:
    assert "m2" not in find(index, "Where do I live?", cut(), exclude=("x2",))
    index.update(replace(SAID[2], never_recall=True))
    assert "m2" not in find(index, "Where do I live?", cut())
    index.update(replace(SAID[2], expires=NOW - timedelta(days=1)))
    assert "m2" not in find(index, "Where do I live?", cut())
    index.update(SAID[2])
    assert "m2" in find(index, "Where do I live?", cut())
    index.hide(["x1", "x2"], [])
    assert not {"m1", "m2"} & set(find(index, "Where do I live?", cut()))


def test_a_brief_search_finds_summaries_only_for_recaps(
    index: UserIndex, cut: Callable[[], SearchDeadline]
) -> None:
    summary = replace(
        turn(4, "Max the dog loves fetch.", NOW), kind=MemoryKind.SUMMARY, sources=("x0", "x3")
    )
    index.add([summary], np.eye(2, dtype=np.float32)[[0]])
    assert first(find(index, "What does Max the dog love?", cut()), "m0")
    assert "m4" not in find(index, "What does Max the dog love?", cut())
    assert find(index, "What have we talked about?", cut()) == ["m4"]


def test_a_brief_search_finds_the_newest_of_equal_memories(
    cut: Callable[[], SearchDeadline],
) -> None:
    index = user_index(2)
    equal = [turn(number, "It rained all day.", NOW) for number in range(120)]
    index.add(equal, np.tile(np.array([1, 0], np.float32), (120, 1)))
    assert find(index, "Has it rained?", cut()) == ["m119", "m118", "m117", "m116"]


def test_a_brief_search_finds_only_memories_of_the_time_asked_for(
    index: UserIndex, cut: Callable[[], SearchDeadline]
) -> None:
    index.update(replace(SAID[3], text="What did I say on Monday about the rain?"))
    assert find(index, "What did I say yesterday?", cut()) == []


def test_a_search_does_not_wait_for_changes_beyond_its_limit(index: UserIndex) -> None:
    begun, over = threading.Event(), threading.Event()

    def change() -> None:
        with index._lock:
            begun.set()
            assert over.wait(PATIENCE_S)

    thread = threading.Thread(target=change)
    thread.start()
    assert begun.wait(PATIENCE_S)
    limit = SearchDeadline(0.0)
    assert find(index, "Where do I live?", limit) == []
    assert limit.cut
    over.set()
    thread.join()
    assert "m2" in find(index, "Where do I live?", None)
