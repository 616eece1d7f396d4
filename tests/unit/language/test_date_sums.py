"""Days, weeks and hours between dates, as they are asked for."""

from datetime import UTC, datetime, timedelta

import pytest

from assistant.language.calendar import MONTHS
from assistant.language.date_sums import date_sum
from assistant.language.numbers import number_of

NOW = datetime(2026, 11, 18, 10, 20, tzinfo=UTC)
"""A Wednesday."""


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("days until Christmas", "thirty-seven days"),
        ("How many days is it till the 1st of February", "seventy-five days"),
        ("how many sleeps until Christmas", "thirty-seven sleeps"),
        ("how long until Christmas", "thirty-seven days"),
        ("how many weeks until Christmas", "five weeks and two days"),
        ("how many weeks till Friday", "two days"),
        ("how many days until tomorrow", "one day"),
        ("how many months until June", "six months and fourteen days"),
        ("how many days till next Friday", "nine days"),
        ("how many days away is Christmas", "thirty-seven days"),
        ("weeks between the 3rd of March and the 1st of June", "twelve weeks and six days"),
        ("days from the 3rd of March to the 10th of March", "seven days"),
        ("how many days between Christmas and New Year's Eve", "six days"),
        ("how many days from now until New Year's Day", "forty-four days"),
        ("how many days since the 1st of January", "three hundred and twenty-one days"),
        ("how many days since last Friday", "five days"),
        ("how many days since Monday", "two days"),
        ("how many days since yesterday", "one day"),
        ("days since the 5th of November", "thirteen days"),
        ("how many years since the 18th of November 1990", "thirty-six years"),
        ("how many days since 1 May 2020", "two thousand three hundred and ninety-two days"),
        ("how many days in March", "thirty-one days"),
        ("how many days in February 2028", "twenty-nine days"),
        ("how many days in February", "twenty-eight days, or twenty-nine in a leap year"),
        ("how long until 5 pm", "six hours and forty minutes"),
        ("how long till half past six", "eight hours and ten minutes"),
        ("how many minutes until noon", "one hundred minutes"),
        ("how many hours until 7 a.m.", "twenty hours and forty minutes"),
    ],
)
def test_the_time_between_dates_is_counted(said: str, answer: str) -> None:
    assert date_sum(said, NOW) == answer


@pytest.mark.parametrize(
    "said",
    [
        "days until my birthday",
        "how many days since next Friday",
        "how many days until the 30th of February",
        "how many days between Christmas",
        "how many days in Marchland",
        "how many days in a week",
        "Christmas",
        "how many days until 99999",
    ],
)
def test_other_words_are_no_time_between_dates(said: str) -> None:
    assert date_sum(said, NOW) is None


def test_days_until_any_date_of_the_coming_year_are_those_of_the_calendar() -> None:
    for days in range(2, 365):
        day = NOW.date() + timedelta(days=days)
        for said in ("how many days until", "days from today to", "how many nights till"):
            answer = date_sum(f"{said} {MONTHS[day.month - 1]} {day.day}", NOW)
            assert answer is not None
            assert number_of(answer.rpartition(" ")[0]) == days
