"""A search that has to be over in time, and what there is of it where it can't be."""

import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from assistant.memory.lexicon import Lexicon
from assistant.memory.pace import LEAST_S, MORE, MOST, SEARCHES, Limit, Pace
from assistant.memory.question import read_question
from assistant.memory.ranking import Ranking
from assistant.memory.record import Kind, Memory
from assistant.memory.user_index import UserIndex

NOW = datetime(2026, 6, 1, tzinfo=UTC)
CHECKS = 3
"""How often a search looks at its limit."""
BEFORE = 2
"""Looks at the clock: when it begins, and for the lock."""
WAIT_S = 30


class Clock:
    """Stands still until it is told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def search(pace: Pace, clock: Clock, seconds: float, due: float = 9e9) -> bool:
    """Takes so long where nothing cuts it short, evenly. Whether nothing did."""
    began, limit = clock.now, pace.limit(clock.now + due)
    for left in (0.95, 0.5, 0.4):
        clock.now = began + (1 - left) * seconds
        if not limit.allows(left):
            break
    else:
        clock.now = began + seconds
    pace.over(limit)
    return not limit.cut


def test_of_the_deadline_somewhat_more_is_kept_than_searches_take_as_a_rule(clock: Clock) -> None:
    pace = Pace(0.003, clock)
    first = pace.reserve(0.010)
    assert 0.003 < first < 0.005
    for _ in range(SEARCHES):
        assert search(pace, clock, 0.001)
    as_a_rule = pace.reserve(0.010)
    assert 0.001 < as_a_rule < 0.002
    for _ in range(SEARCHES // 2 - 1):
        assert search(pace, clock, 0.2)
    assert pace.reserve(0.010) == as_a_rule, "they have waited for the processor"
    for _ in range(SEARCHES):
        assert search(pace, clock, 0.2)
    assert pace.reserve(0.010) == MOST * 0.010


def test_searches_that_are_cut_short_tell_how_long_they_take_too(clock: Clock) -> None:
    """Else who once took them for quick, or slow, would cut all of them short."""
    pace = Pace(0.001, clock)
    for _ in range(SEARCHES):
        search(pace, clock, 0.008, 0.007)
    assert pace.reserve(1.0) == pytest.approx(LEAST_S + MORE * 0.008)
    assert not search(pace, clock, 0.008, 0.007)
    assert pace.reserve(1.0) == pytest.approx(LEAST_S + MORE * 0.008)
    for _ in range(SEARCHES):
        search(pace, clock, 0.001, 0.007)
    assert search(pace, clock, 0.001, 0.007)


def test_a_limit_leaves_time_for_the_rest_and_for_what_the_words_say(clock: Clock) -> None:
    limit = Pace(0.004, clock).limit(0.011)
    clock.now = 0.0059
    assert [limit.allows(1.0), limit.cut] == [True, False]
    clock.now = 0.0079
    assert [limit.allows(0.5), limit.cut] == [True, False]
    assert [limit.allows(1.0), limit.cut] == [False, True]
    clock.now = 0.0
    assert not limit.allows(0.0), "what is cut short stays so"


def cut(clock: Clock) -> Limit:
    limit = Limit(clock.now, 1.0, clock)
    assert not limit.allows(0.5)
    return limit


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
    limit = Limit(1.0, 0.1, runs_out(BEFORE + checks))
    assert find(index, "What does Max the dog love?", limit) == ["m0"]
    assert limit.cut


def test_within_its_limit_it_is_the_whole_search(index: UserIndex) -> None:
    limit = Limit(1.0, 0.1, runs_out(BEFORE + CHECKS))
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
    index.update(replace(TOLD[2], never_recall=True))
    assert find(index, "Where do I live?", cut(clock)) == []
    index.update(replace(TOLD[2], expires=NOW - timedelta(days=1)))
    assert find(index, "Where do I live?", cut(clock)) == []
    assert find(index, "Anything else?", cut(clock)) == []


def test_what_took_the_place_of_a_match_comes_before_it(index: UserIndex, clock: Clock) -> None:
    index.update(replace(TOLD[2], text="We moved to Lisbon."))
    assert find(index, "Where do I live?", cut(clock)) == ["m2", "m1"]
    index.withhold(["x2"], [])
    assert find(index, "Where do I live?", cut(clock)) == ["m1"]


def test_of_a_time_that_alone_is_asked_for_nothing_else_comes_up(
    index: UserIndex, clock: Clock
) -> None:
    index.update(replace(TOLD[3], text="What did I say on Monday about the rain?"))
    assert find(index, "What did I say yesterday?", cut(clock)) == []


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
