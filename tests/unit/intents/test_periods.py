"""Words that name a period, as people say them."""

from datetime import UTC, datetime

import pytest

from assistant.intents.periods import period
from tests.support.zones import BERLIN, NEW_YORK, in_zone

NOW = datetime(2026, 11, 26, 19, 20).astimezone()
"""A Thursday."""


@pytest.mark.parametrize(
    ("words", "since", "until", "days"),
    [
        ("the last ten minutes", "26 19:10", "26 19:20", False),
        ("the last, like, twenty minutes or so", "26 19:00", "26 19:20", False),
        ("these last few minutes", "26 19:15", "26 19:20", False),
        ("the past three days", "23 19:20", "26 19:20", True),
        ("half an hour", "26 18:50", "26 19:20", False),
        ("since about an hour", "26 18:20", "26 19:20", False),
        ("Yesterday", "25 00:00", "25 23:59", True),
        ("the day before yesterday", "24 00:00", "24 23:59", True),
        ("today", "26 00:00", "26 19:20", True),
        ("Tuesday", "24 00:00", "24 23:59", True),
        ("on Friday", "20 00:00", "20 23:59", True),
        ("last week", "16 00:00", "22 23:59", True),
        ("the whole weekend", "21 00:00", "22 23:59", True),
        ("from Friday to Sunday", "20 00:00", "22 23:59", True),
        ("since Tuesday", "24 00:00", "26 19:20", True),
        ("this morning", "26 04:00", "26 11:59", False),
        ("yesterday evening", "25 17:00", "25 23:59", False),
        ("last night", "25 18:00", "26 05:59", False),
        ("during the night", "25 18:00", "26 05:59", False),
        ("saturday night", "21 18:00", "22 05:59", False),
        ("tonight", "26 17:00", "26 19:20", False),
        ("since lunch", "26 12:00", "26 19:20", False),
        ("since dinner time", "26 18:00", "26 19:20", False),
        ("before breakfast", "26 00:00", "26 06:59", False),
        ("since three o'clock", "26 15:00", "26 19:20", False),
        ("from half past four onwards", "26 16:30", "26 19:20", False),
        ("back to quarter past four", "26 16:15", "26 19:20", False),
        ("after 9:30", "26 09:30", "26 19:20", False),
        ("between noon and two", "26 12:00", "26 14:00", False),
        ("since 12 am", "26 00:00", "26 19:20", False),
        ("since twelve at night", "26 00:00", "26 19:20", False),
        ("since 12 pm", "26 12:00", "26 19:20", False),
        ("between 11 pm and 12 am", "25 23:00", "26 00:00", False),
        ("between ten and twelve at night", "25 22:00", "26 00:00", False),
        ("between about three and four this morning", "26 03:00", "26 04:00", False),
        ("from three till now", "26 15:00", "26 19:20", False),
        ("before nine this morning", "26 00:00", "26 08:59", False),
    ],
)
def test_a_period_is_read(words: str, since: str, until: str, days: bool) -> None:
    found = period(words, NOW)
    assert found is not None
    assert f"{found.since:%d %H:%M}" == since
    assert f"{found.until:%d %H:%M}" == until
    assert found.days is days


@pytest.mark.parametrize(
    "words",
    [
        "",
        "...",
        "while the plumber was here",
        "since I got home",
        "the week he was staying here",
        "yesterday's meeting with Tom",
        "tomorrow",
        "in two weeks",
        "the day",
        "30 February",
        "between three and the news",
        "nine thousand weeks",
        "since " * 40,
    ],
)
def test_words_that_name_no_past_period_are_not_guessed(words: str) -> None:
    assert period(words, NOW) is None


def test_shortly_after_midnight_tonight_and_this_evening_are_the_evening_before() -> None:
    late = datetime(2026, 11, 26, 0, 30).astimezone()
    for words in ("this evening", "tonight", "the afternoon"):
        found = period(words, late)
        assert found is not None
        assert found.since.day == 25


def test_a_day_begins_at_midnight_even_if_the_clocks_change_on_it() -> None:
    with in_zone(NEW_YORK):
        found = period("today", datetime(2026, 11, 1, 20, tzinfo=UTC))
        assert found is not None
        assert found.since == datetime(2026, 11, 1, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "now", "since", "until"),
    [
        ("this morning", "2026-10-25 20:00", "04:00+0100", "11:59+0100"),
        ("this morning", "2026-03-29 20:00", "04:00+0200", "11:59+0200"),
        ("last night", "2026-10-25 20:00", "18:00+0200", "05:59+0100"),
        ("last night", "2026-03-29 20:00", "18:00+0100", "05:59+0200"),
        ("between one and four am", "2026-10-25 10:00", "01:00+0200", "04:00+0100"),
        ("since dinner", "2026-10-25 10:00", "18:00+0200", "10:00+0100"),
        ("since dinner", "2026-03-29 10:00", "18:00+0100", "10:00+0200"),
    ],
)
def test_parts_of_the_days_on_which_the_clock_changes(
    words: str, now: str, since: str, until: str
) -> None:
    with in_zone(BERLIN):
        found = period(words, datetime.fromisoformat(now).astimezone())
    assert found is not None
    assert (f"{found.since:%H:%M%z}", f"{found.until:%H:%M%z}") == (since, until)
