"""Days are local days, not UTC days."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from assistant.context.conversation import Exchange
from assistant.language.calendar import day_words, local_day
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.duplicates import same_telling
from assistant.memory.curation.materialize import materialize_exchange
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.time_index import RowTimes, time_asked
from assistant.memory.transcript.fact_rows import Fact, content_of, memories_of_facts
from assistant.memory.transcript.span_summaries import memory_of
from tests.support.zones import LOS_ANGELES, in_zone

MONDAY_AT_NOON = datetime(2026, 11, 23, 20, tzinfo=UTC)
MONDAY_AT_FIVE = datetime(2026, 11, 24, 1, tzinfo=UTC)
TUESDAY_AT_NINE = datetime(2026, 11, 24, 17, tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)
MONDAY = "Monday 23 November 2026"


@pytest.fixture(autouse=True)
def in_los_angeles() -> Iterator[None]:
    with in_zone(LOS_ANGELES):
        yield


def exchange(at: datetime) -> Exchange:
    return Exchange("e1", 1, "My exam is tomorrow.", at, "Good luck.", ended=at)


def said_at(at: datetime) -> Memory:
    return Memory("m1", "ada", MemoryKind.EXCHANGE, "My exam is tomorrow.", at)


def test_a_day_in_words_is_the_local_day() -> None:
    assert day_words(MONDAY_AT_FIVE) == MONDAY
    assert day_words(TUESDAY_AT_NINE) == "Tuesday 24 November 2026"


def test_the_day_by_which_a_memory_is_found_is_the_local_day() -> None:
    said = exchange(MONDAY_AT_FIVE)
    fact = Fact("event", "The user's exam is on Tuesday.", "my exam", 0.5, 0.8)
    made = [
        *materialize_exchange("ada", "c1", said),
        *memories_of_facts("ada", "c1", said, [each for each in content_of([fact]) if each]),
        memory_of("ada", "c1", "c1-s1", "An exam.", [said, exchange(MONDAY_AT_NOON)]),
    ]
    assert [each.context for each in made] == [MONDAY] * 4


def test_tomorrow_means_another_day_on_another_local_day() -> None:
    lexicon = TextAnalyzer("en")
    evening, morning = said_at(MONDAY_AT_FIVE), said_at(TUESDAY_AT_NINE)
    assert evening.told.date() == morning.told.date()
    assert not same_telling(evening, morning, lexicon)
    assert same_telling(said_at(MONDAY_AT_NOON), evening, lexicon)


@pytest.mark.parametrize("zone", ["<-12>12", "<+14>-14"])
@pytest.mark.parametrize("year", [1, 9999])
def test_the_first_and_last_possible_dates_have_local_days(zone: str, year: int) -> None:
    times = RowTimes()
    times.reserve(2)
    with in_zone(zone):
        for row, at in enumerate((datetime(year, 1, 1, tzinfo=UTC), LAST.replace(year=year))):
            assert abs((local_day(at) - at.date()).days) <= 1
            times.write(row, "We were there last week, at Christmas and 40 years ago.", at)
        now = time_asked("What did I say yesterday?", MONDAY_AT_NOON)
        assert now is not None
        assert list(times.within(now, 2)) == []


def test_memories_of_the_last_date_can_be_compared() -> None:
    last = said_at(LAST)
    with in_zone("<+14>-14"):
        assert same_telling(last, last, TextAnalyzer("en"))
        assert not same_telling(replace(last, created=MONDAY_AT_NOON), last, TextAnalyzer("en"))
