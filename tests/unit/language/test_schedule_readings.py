"""Readings of random words at random times, and what is spoken, read again."""

import random
from datetime import datetime, timedelta

import pytest

from assistant.language.schedule import Schedule, schedule
from assistant.language.spoken_times import spoken, spoken_repeat

BEGIN = datetime.fromisoformat("2026-01-01 00:00")
NOW = datetime.fromisoformat("2026-11-18 10:20")
"""A Wednesday."""


def test_every_reading_is_in_the_future_at_any_time() -> None:
    chance = random.Random(1)
    days = ["", "today", "tomorrow", "on Friday", "next Monday", "on the 31st", "on 29 February"]
    parts = ["", "in the morning", "this evening", "at night", "tonight", "every day", "weekdays"]
    clocks = ["", "at seven", "at 12", "half one", "19:30", "at midnight", "at noon", "quarter to"]
    for _ in range(3000):
        now = BEGIN + timedelta(seconds=chance.randrange(3 * 365 * 86_400))
        words = " ".join(chance.choice(each) for each in (days, parts, clocks))
        for alarm in (False, True):
            found = schedule(words, now, alarm=alarm)
            if found is not None:
                assert found.local, words
                assert now < found.local < now + timedelta(days=4 * 366), words


def test_what_is_spoken_is_read_as_the_same_time() -> None:
    chance = random.Random(2)
    for _ in range(3000):
        now = BEGIN + timedelta(seconds=chance.randrange(3 * 365 * 86_400))
        ahead = timedelta(minutes=chance.randrange(1, chance.choice((1440, 10_080, 525_600))))
        when = (now + ahead).replace(second=0)
        words = spoken(when, now)
        if when > now and "at midnight at the end" not in words:
            assert schedule(words, now) == Schedule(local=when), words


@pytest.mark.parametrize(
    "words",
    [
        *("every weekday at 6:30 a.m.", "every two hours", "the first of every month at ten"),
        *("every other Monday at six in the evening", "daily at eight", "weekends at ten"),
        *("every night at ten", "every Saturday night at one", "every year on 3 March at noon"),
        *("the last Friday of every month at noon", "every 3 months on the 18th at five"),
        *("every 3 weeks on Monday at 12:04", "every half hour", "every day at midnight"),
    ],
)
def test_a_spoken_repetition_is_read_as_the_same(words: str) -> None:
    found = schedule(words, NOW)
    assert found
    assert found.repeat
    assert found.local
    assert schedule(spoken_repeat(found.repeat, found.local), NOW) == found
