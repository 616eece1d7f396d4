"""Single days, past and to come."""

from datetime import date, timedelta

import pytest

from assistant.language.days import away, named_day

TODAY = date(2026, 11, 18)
"""A Wednesday."""


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("today", "2026-11-18"),
        ("yesterday", "2026-11-17"),
        ("the day before yesterday", "2026-11-16"),
        ("last Friday", "2026-11-13"),
        ("last Wednesday", "2026-11-11"),
        ("three days ago", "2026-11-15"),
        ("a week ago", "2026-11-11"),
        ("two months ago", "2026-09-18"),
        ("tomorrow", "2026-11-19"),
        ("this Saturday", "2026-11-21"),
        ("next Friday", "2026-11-27"),
        ("next Monday", "2026-11-23"),
        ("a week on Friday", "2026-11-27"),
        ("two weeks today", "2026-12-02"),
        ("in ten days", "2026-11-28"),
        ("the 25th of December this year", "2026-12-25"),
        ("the 25th of December next year", "2027-12-25"),
        ("the 3rd of March", "2027-03-03"),
        ("March the third, 2030", "2030-03-03"),
        ("the 4th of July 1976", "1976-07-04"),
        ("June 23rd, twenty sixteen", "2016-06-23"),
        ("the first of next month", "2026-12-01"),
        ("the end of the month", "2026-11-30"),
        ("New Year's Eve", "2026-12-31"),
        ("Christmas Day", "2026-12-25"),
        ("Good Friday", "2027-03-26"),
        ("Easter Monday", "2027-03-29"),
        ("Thanksgiving", "2026-11-26"),
        ("Black Friday", "2026-11-27"),
        ("Pancake Day", "2027-02-09"),
        ("Whit Monday", "2027-05-17"),
        ("Labor Day", "2027-09-06"),
        ("Christmas Day 2019", "2019-12-25"),
        ("Easter next year", "2027-03-28"),
    ],
)
def test_a_day_is_read(words: str, day: str) -> None:
    assert named_day(words, TODAY) == date.fromisoformat(day)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "soon",
        "31 February",
        "my birthday",
        "Friday or Saturday",
        "in a few days",
        "tomorrow at 9",
    ],
)
def test_nothing_else_is_taken_for_a_day(words: str) -> None:
    assert named_day(words, TODAY) is None


def test_every_date_of_a_year_is_read() -> None:
    for number in range(366):
        day = TODAY + timedelta(days=number)
        assert named_day(f"{day:%A} the {day.day} of {day:%B}", TODAY) == day
        assert named_day(f"on {day:%B} {day.day} {day.year}", TODAY) == day


def test_a_month_away_from_a_long_month_is_the_end_of_a_short_one() -> None:
    assert away(date(2026, 1, 31), 1, "month") == date(2026, 2, 28)
    assert away(date(2028, 2, 29), 1, "year") == date(2029, 2, 28)
    assert away(date(2026, 1, 31), -2, "month") == date(2025, 11, 30)
