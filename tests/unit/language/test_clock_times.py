"""Times of day."""

from datetime import time

import pytest
from num2words import num2words

from assistant.language.clock_times import clock_time


@pytest.mark.parametrize(
    ("words", "at", "exact"),
    [
        ("seven", "07:00", False),
        ("at seven o clock", "07:00", False),
        ("half past seven", "07:30", False),
        ("half seven", "07:30", False),
        ("a quarter to eight", "07:45", False),
        ("quarter after six", "06:15", False),
        ("ten till nine", "08:50", False),
        ("twenty five minutes to one", "00:35", False),
        ("7:30", "07:30", False),
        ("730", "07:30", False),
        ("7 oh 5", "07:05", False),
        ("12:30", "12:30", False),
        ("07:30", "07:30", True),
        ("0730 hours", "07:30", True),
        ("1930 hours", "19:30", True),
        ("00:15", "00:15", True),
        ("24:00", "00:00", True),
        ("7 pm", "19:00", True),
        ("12 am", "00:00", True),
        ("half past four in the afternoon", "16:30", True),
        ("eleven at night", "23:00", True),
        ("two at night", "02:00", True),
        ("midday", "12:00", True),
        ("midnight", "00:00", True),
    ],
)
def test_a_time_of_day_is_read(words: str, at: str, exact: bool) -> None:
    assert clock_time(words) == (time.fromisoformat(at), exact)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "25",
        "7:61",
        "24:30",
        "half",
        "ten past seven thirty",
        "2026",
        "seven eight nine",
        "lunch",
    ],
)
def test_nothing_else_is_taken_for_a_time_of_day(words: str) -> None:
    assert clock_time(words) is None


def test_every_minute_is_read_in_words_and_digits() -> None:
    for minute in range(24 * 60):
        at = time(minute // 60, minute % 60)
        assert (clock_time(f"{at:%H:%M}") or [None])[0] == at
        if at.minute > 9:
            words = f"{num2words(at.hour or 24)} {num2words(at.minute).replace('-', ' ')}"
            assert (clock_time(words) or [at])[0] == at
