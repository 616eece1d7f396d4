"""Questions that name a time, among memories of many days."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from assistant.language.speakers import USER
from assistant.memory.retrieval.question import read_question
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.retrieval.time_index import RowTimes, time_asked
from assistant.memory.retrieval.user_index import UserIndex
from tests.support.memories import turn
from tests.support.user_memory import user_index

NOW = datetime(2026, 7, 2, 18, tzinfo=UTC)
BOILER = {
    datetime(2026, 1, 14, 12, tzinfo=UTC): "the boiler broke, it was the pump",
    datetime(2026, 5, 11, 12, tzinfo=UTC): "the boiler broke, it was the valve",
    datetime(2026, 6, 11, 12, tzinfo=UTC): "the boiler man comes on the third of August",
    datetime(2026, 7, 1, 12, tzinfo=UTC): "the goldfish looks pale",
}


def index(ranking: Ranking | None = None, more: int = 0) -> UserIndex:
    """An index with `more` memories of earlier small talk."""
    made = user_index(4, ranking)
    said = BOILER | {
        datetime(2025, 1, 1, tzinfo=UTC) + timedelta(hours=n): f"a boiler, a pump, {n}"
        for n in range(more)
    }
    memories = [turn(n, text, when) for n, (when, text) in enumerate(said.items())]
    vectors = np.tile(np.array([1, 0, 0, 0], np.float32), (len(memories), 1))
    made.add(memories, vectors)
    return made


def first(asked: str, within: UserIndex) -> str:
    return texts(asked, within)[0]


def texts(asked: str, within: UserIndex) -> Sequence[str]:
    question = read_question(asked, [USER])
    vector = np.array([0.6, 0.8, 0, 0], np.float32)
    return [each.text for each in within.search(question, vector, k=9, now=NOW)]


def test_a_memory_from_the_named_time_comes_first() -> None:
    assert "pump" in first("what was wrong with the boiler in January?", index())
    assert "valve" in first("what was wrong with the boiler in May?", index())


def test_a_memory_that_mentions_a_day_in_the_named_time_comes_first() -> None:
    assert "third of August" in first("what happens with the boiler in August?", index())


def test_a_memory_from_the_named_time_is_found_among_hundreds_of_other_matches() -> None:
    many = index(more=900)
    assert "valve" in first("what was wrong with the boiler in May?", many)
    assert "valve" not in first("what was wrong with the boiler in May?", index(Ranking(times=0)))


def test_other_memories_are_left_out_only_if_the_question_asks_for_nothing_but_a_time() -> None:
    assert texts("what did I say yesterday?", index()) == ["the goldfish looks pale"]
    assert len(texts("what did I say of the boiler yesterday?", index())) == len(BOILER)
    assert texts("what did I say on the first of March 2020?", index()) == []


def test_a_question_that_asks_when_prefers_memories_that_mention_a_day() -> None:
    within = index()
    assert "third of August" in first("when does the boiler man come?", within)
    question = read_question("when does the boiler man come?", [USER])
    found = within.search(question, None, k=9, now=NOW)
    assert {each.text for each in found if each.parts.get("time")} == {
        "the boiler man comes on the third of August"
    }


def test_closeness_fades_with_distance() -> None:
    times = RowTimes()
    times.reserve(400)
    for row in range(400):
        times.write(row, "hm", NOW - timedelta(days=row))
    asked = time_asked("what did I say about it last week?", NOW)
    assert asked is not None
    close, dated = times.evidence(np.arange(400), asked)
    assert close is not None
    assert dated is None
    inside = [row for row in range(400) if close[row] == 1]
    assert inside == list(range(4, 11))
    assert (np.diff(close[10:]) <= 0).all()
    assert (np.diff(close[:5]) >= 0).all()
    assert close[-1] < 0.001
    assert times.within(asked, 400).tolist() == inside


@pytest.mark.parametrize("asked", ["what is my dog called?", "why does it rain?", ""])
def test_most_questions_name_no_time(asked: str) -> None:
    assert time_asked(asked, NOW) is None


def test_removed_rows_are_not_found_by_time() -> None:
    within = index()
    within.remove(["m3"])
    assert texts("what did I say yesterday?", within) == []
