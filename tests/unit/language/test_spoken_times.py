"""Times to come and repetitions, as they are spoken."""

import re
from datetime import datetime, timedelta

import pytest
from num2words import num2words

from assistant.language.spoken_times import (
    ordinal_words_of,
    spoken,
    spoken_clock,
    spoken_day,
)

NOW = datetime.fromisoformat("2026-11-18 10:20")
"""A Wednesday."""


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("2026-11-18 11:20", "at twenty past eleven this morning"),
        ("2026-11-18 12:00", "at noon today"),
        ("2026-11-18 15:15", "at quarter past three this afternoon"),
        ("2026-11-18 19:00", "at seven this evening"),
        ("2026-11-18 22:00", "at ten tonight"),
        ("2026-11-19 00:00", "at midnight tonight"),
        ("2026-11-18 10:40:07", "in twenty minutes"),
        ("2026-11-18 10:21:10", "in one minute and ten seconds"),
        ("2026-11-18 11:50:01", "in an hour and a half"),
        ("2026-11-19 02:00", "at two tomorrow morning"),
        ("2026-11-19 06:30", "at half past six tomorrow morning"),
        ("2026-11-19 09:00", "at nine tomorrow"),
        ("2026-11-19 18:45", "at quarter to seven tomorrow evening"),
        ("2026-11-20 07:30", "on Friday at half past seven"),
        ("2026-11-20 19:04", "on Friday evening at seven oh four"),
        ("2026-11-21 00:00", "at midnight on Friday night"),
        ("2026-11-25 09:00", "at nine on Wednesday, the twenty-fifth of November"),
        ("2026-12-03 22:00", "at ten at night on Thursday, the third of December"),
        ("2026-12-21 00:00", "at midnight at the end of Sunday, the twentieth of December"),
        ("2027-12-03 12:00", "at noon on Friday, the third of December 2027"),
    ],
)
def test_a_time_to_come_is_spoken(when: str, words: str) -> None:
    assert spoken(datetime.fromisoformat(when), NOW) == words


def test_days_are_spoken() -> None:
    days = [spoken_day(NOW.date() + timedelta(days=each), NOW.date()) for each in (0, 1, 3, 7)]
    assert days == [
        "today",
        "tomorrow",
        "on Saturday",
        "on Wednesday, the twenty-fifth of November",
    ]


def test_clock_times_are_spoken_without_digits_and_differ_within_half_a_day() -> None:
    spoken_times = [
        spoken_clock(NOW.replace(hour=0, minute=0) + timedelta(minutes=each)) for each in range(720)
    ]
    assert len(set(spoken_times)) == 720
    assert not any(re.search(r"\d|:", words) for words in spoken_times)


def test_days_of_the_month_are_spoken() -> None:
    assert [ordinal_words_of(each) for each in range(1, 32)] == [
        num2words(each, to="ordinal") for each in range(1, 32)
    ]
