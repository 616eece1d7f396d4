"""A search that has to be over in time, and what there is of it where it can't be."""

import itertools
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from assistant.memory.lexicon import Lexicon
from assistant.memory.pace import LEAST_S, MOST, SEARCHES, Limit, Pace
from assistant.memory.question import read_question
from assistant.memory.ranking import Ranking
from assistant.memory.record import Kind, Memory
from assistant.memory.user_index import UserIndex

NOW = datetime(2026, 6, 1, tzinfo=UTC)
CHECKS = 3
"""How often a search looks at its limit."""
WAIT_S = 30


class Clock:
    """Stands still until it is told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def uncut() -> Limit:
    return Limit(float("inf"), 0.0)


def cut(clock: Clock) -> Limit:
    limit = Limit(clock.now, 1.0, clock)
    assert not limit.allows(0.5)
    return limit


def test_of_the_deadline_somewhat_more_is_kept_than_searches_take_as_a_rule() -> None:
    pace = Pace(0.003)
    first = pace.reserve(0.010)
    assert 0.003 < first < 0.005
    for _ in range(SEARCHES - 1):
        pace.over(0.001, uncut())
        assert pace.reserve(0.010) == first
    pace.over(0.001, uncut())
    assert 0.001 < pace.reserve(0.010) < 0.002
    for _ in range(SEARCHES):
        pace.over(0.5, uncut())
    assert pace.reserve(0.010) == MOST * 0.010


def test_what_waited_for_the_processor_is_no_rule() -> None:
    pace = Pace(0.003)
    for _ in range(SEARCHES):
        pace.over(0.001, uncut())
    as_a_rule = pace.reserve(0.010)
    for _ in range(3):
        pace.over(0.2, uncut())
    assert pace.reserve(0.010) == as_a_rule


def test_what_is_thought_of_searches_is_forgotten_where_it_cuts_all_of_them_short(
    clock: Clock,
) -> None:
    pace = Pace(0.003)
    for _ in range(SEARCHES):
        pace.over(0.5, uncut())
    pace.over(0.0, cut(clock))
    assert 0.003 < pace.reserve(0.010) < 0.005
    for _ in range(2 * SEARCHES):
        pace.over(0.0, cut(clock))


def test_a_limit_leaves_time_for_the_rest(clock: Clock) -> None:
    pace = Pace(0.004, clock)
    limit = pace.limit(0.010)
    assert limit.due == pytest.approx(0.010 - LEAST_S)
    clock.now = 0.005
    assert limit.allows(1.0)
    clock.now = 0.007
    assert [limit.allows(0.5), limit.cut] == [True, False]
    assert [limit.allows(1.0), limit.cut] == [False, True]
    clock.now = 0.0
    assert not limit.allows(0.0), "what is cut short stays so"


# -- the search itself --------------------------------------------------------------------------


def told(number: int, text: str, superseded_by: str | None = None) -> Memory:
    return Memory(
        id=f"m{number}",
        user_id="ada",
        kind=Kind.EXCHANGE,
        text=text,
        created=NOW - timedelta(days=100 - number),
        speaker="user",
        conversation=f"c{number}",
        sources=(f"x{number}",),
        superseded_by=superseded_by,
    )


TOLD = (
    told(0, "My dog Max loves fetch."),
    told(1, "I live in Ghent.", superseded_by="m2"),
    told(2, "I live in Lisbon."),
    told(3, "It rained all day."),
)


@pytest.fixture
def index() -> UserIndex:
    made = UserIndex("ada", Lexicon("en"), 2, Ranking())
    made.add(TOLD, np.eye(2, dtype=np.float32)[[0, 1, 1, 0]])
    return made


def find(
    index: UserIndex, text: str, limit: Limit | None, exclude: tuple[str, ...] = ()
) -> list[str]:
    vector = np.array([1, 0], np.float32)
    question = read_question(text, ())
    found = index.search(question, vector, k=4, now=NOW, exclude=exclude, limit=limit)
    return [each.id for each in found]


def runs_out(after: int) -> Callable[[], float]:
    """A clock that is past any limit from this look on."""
    looks: Iterator[float] = itertools.chain([0.0] * after, itertools.repeat(9.0))
    return lambda: next(looks)


@pytest.mark.parametrize("checks", range(CHECKS))
def test_past_its_limit_the_words_decide(index: UserIndex, checks: int) -> None:
    looks_for_the_lock = 1
    limit = Limit(1.0, 0.1, runs_out(looks_for_the_lock + checks))
    assert find(index, "What does Max the dog love?", limit) == ["m0"]
    assert limit.cut


def test_within_its_limit_it_is_the_whole_search(index: UserIndex) -> None:
    limit = Limit(1.0, 0.1, runs_out(1 + CHECKS))
    whole = find(index, "What does Max the dog love?", None)
    assert find(index, "What does Max the dog love?", limit) == whole
    assert not limit.cut
    assert "m3" in whole, "near in meaning"


def test_of_the_words_what_is_no_longer_so_comes_last_and_what_is_shown_not_at_all(
    index: UserIndex, clock: Clock
) -> None:
    assert find(index, "Where do I live?", cut(clock)) == ["m2", "m1"]
    assert find(index, "Where do I live?", cut(clock), exclude=("x2",)) == ["m1"]
    index.withhold(["x1"], [])
    assert find(index, "Where do I live?", cut(clock)) == ["m2"]
    assert find(index, "Anything else?", cut(clock)) == []


def test_who_changes_the_index_does_not_hold_a_turn_up(index: UserIndex) -> None:
    begun, over = threading.Event(), threading.Event()

    def change() -> None:
        with index._lock:
            begun.set()
            assert over.wait(WAIT_S)

    thread = threading.Thread(target=change)
    thread.start()
    assert begun.wait(WAIT_S)
    limit = Limit(0.0, 0.0)
    assert find(index, "Where do I live?", limit) == []
    assert limit.cut
    over.set()
    thread.join()
    assert "m2" in find(index, "Where do I live?", None)
