"""Durations, as people say them and as recognisers write them."""

import pytest

from assistant.language.durations import seconds
from assistant.language.spoken_times import spoken_duration


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("ninety seconds", 90),
        ("90s", 90),
        ("thirty-second", 30),
        ("a second", 1),
        ("5 minutes and 30 seconds", 330),
        ("five minutes, thirty seconds", 330),
        ("3 minutes 30", 210),
        ("2 and a half minutes", 150),
        ("half a minute", 30),
        ("ten-minute", 600),
        ("two more minutes", 120),
        ("another minute", 60),
        ("an extra ten minutes", 600),
        ("for 10 minutes, please", 600),
        ("ten minutes or so", 600),
        ("a couple of minutes", 120),
        ("a couple minutes", 120),
        ("a hundred and twenty seconds", 120),
        ("1,000 seconds", 1000),
        ("five min", 300),
        ("tan minutes", 600),
        ("half an hour", 1800),
        ("three quarters of an hour", 2700),
        ("a quarter of an hour", 900),
        ("an hour and a half", 5400),
        ("one and a half hours", 5400),
        ("1½ hours", 5400),
        ("2 1/2 hours", 9000),
        ("two point five hours", 9000),
        ("an hour and twenty minutes", 4800),
        ("one hour ten", 4200),
        ("1 hour 20 minutes 10 seconds", 4810),
        ("an hour and three quarters", 6300),
        ("two days", 172_800),
        ("2 weeks", 1_209_600),
    ],
)
def test_a_duration_is_read(words: str, wanted: int) -> None:
    assert seconds(words) == wanted
    assert seconds(words.upper()) == wanted


@pytest.mark.parametrize(
    "words",
    [
        *("", "1:30", "20", "twenty", "minutes", "a few minutes", "several hours", "a while"),
        *("five or ten minutes", "10 minutes 5 minutes", "30 seconds 2 minutes", "0 minutes"),
        *("five to ten minutes", "an hour to 2 hours", "seven to eight hours"),
        *("nine thousand weeks", "to the oven", "an hour ago", "half", "ten minutes eggs"),
        *("minutes " * 1000, "1 " * 1000, "a hundred " * 1000 + "minutes", "1" * 5000 + " minutes"),
    ],
)
def test_nothing_else_is_taken_for_one(words: str) -> None:
    assert seconds(words) is None


def test_a_number_alone_counts_minutes_only_if_asked_for() -> None:
    assert seconds("20", bare_minutes=True) == seconds("twenty", bare_minutes=True) == 1200
    assert seconds("twenty seconds", bare_minutes=True) == 20
    assert seconds("the pasta", bare_minutes=True) is None


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (0.2, "one second"),
        (45, "forty-five seconds"),
        (59.6, "one minute"),
        (70, "one minute and ten seconds"),
        (300, "five minutes"),
        (1800, "half an hour"),
        (3600, "an hour"),
        (5400, "an hour and a half"),
        (4500, "one hour and fifteen minutes"),
        (4510, "one hour and fifteen minutes"),
        (9000, "two and a half hours"),
        (90_000, "one day and one hour"),
        (864_000, "ten days"),
        (1_209_600, "two weeks"),
    ],
)
def test_a_duration_is_spoken(length: float, words: str) -> None:
    assert spoken_duration(length) == words


def test_what_is_spoken_is_read_as_the_same_duration() -> None:
    for length in (*range(1, 3600), *range(3600, 86_400, 60), *range(86_400, 2_600_000, 3600)):
        assert seconds(spoken_duration(length)) == length, spoken_duration(length)
