"""When something is due, as people say it and as recognisers write it."""

from datetime import datetime, timedelta

import pytest

from assistant.language.repeats import Repeat
from assistant.language.schedule import Schedule, schedule

NOW = datetime.fromisoformat("2026-11-18 10:20")
"""A Wednesday."""
WORKDAYS = (0, 1, 2, 3, 4)


def read(words: str, now: datetime = NOW) -> Schedule | None:
    """Read words; those that begin with an exclamation mark are for an alarm."""
    return schedule(words.removeprefix("!"), now, alarm=words.startswith("!"))


def first(words: str, now: datetime = NOW) -> str:
    """Return the first time that words mean, or an empty text."""
    found = read(words, now)
    at = found and (now + found.after if found.after else found.local)
    return f"{at:%Y-%m-%d %H:%M}" if at else ""


@pytest.mark.parametrize(
    ("words", "due"),
    [
        ("a month today", "2026-12-18 09:00"),
        ("a fortnight today at noon", "2026-12-02 12:00"),
        ("tomorrow at nine", "2026-11-19 09:00"),
        ("at quarter to eight", "2026-11-18 19:45"),
        ("7pm", "2026-11-18 19:00"),
        ("19:30", "2026-11-18 19:30"),
        ("in an hour and a half", "2026-11-18 11:50"),
        ("on the 3rd of March at noon", "2027-03-03 12:00"),
        ("next Friday evening", "2026-11-27 18:00"),
        ("in three weeks", "2026-12-09 09:00"),
        ("tonight", "2026-11-18 20:00"),
        ("first thing in the morning", "2026-11-19 09:00"),
        ("first thing tomorrow", "2026-11-19 09:00"),
        ("on the last day of the month", "2026-11-30 09:00"),
        ("!at seven", "2026-11-19 07:00"),
        ("!at two", "2026-11-18 14:00"),
        ("at seven", "2026-11-18 19:00"),
        ("7 30", "2026-11-18 19:30"),
        ("!7 30", "2026-11-19 07:30"),
        ("half seven", "2026-11-18 19:30"),
        ("!half seven", "2026-11-19 07:30"),
        ("seven o clock", "2026-11-18 19:00"),
        ("seven o'clock in the evening", "2026-11-18 19:00"),
        ("7 a.m. tomorrow", "2026-11-19 07:00"),
        ("tomorrow at 7:30 a.m.", "2026-11-19 07:30"),
        ("at 7 p m", "2026-11-18 19:00"),
        ("Friday", "2026-11-20 09:00"),
        ("Wednesday at 11", "2026-11-18 11:00"),
        ("Wednesday at nine", "2026-11-25 09:00"),
        ("Wednesday", "2026-11-25 09:00"),
        ("a week on Friday at ten", "2026-11-27 10:00"),
        ("Friday week", "2026-11-27 09:00"),
        ("two weeks today", "2026-12-02 09:00"),
        ("tomorrow week", "2026-11-26 09:00"),
        ("in two days at 4pm", "2026-11-20 16:00"),
        ("in 3 months", "2027-02-18 09:00"),
        ("in a year", "2027-11-18 09:00"),
        ("the day after tomorrow at half past two", "2026-11-20 14:30"),
        ("at midnight", "2026-11-19 00:00"),
        ("tonight at midnight", "2026-11-19 00:00"),
        ("at noon", "2026-11-18 12:00"),
        ("12 noon", "2026-11-18 12:00"),
        ("noon on Friday", "2026-11-20 12:00"),
        ("at lunchtime", "2026-11-18 12:00"),
        ("at twenty past", "2026-11-18 11:20"),
        ("quarter to", "2026-11-18 10:45"),
        ("on the hour", "2026-11-18 11:00"),
        ("this afternoon", "2026-11-18 15:00"),
        ("this evening at seven", "2026-11-18 19:00"),
        ("at ten tonight", "2026-11-18 22:00"),
        ("tonight at one", "2026-11-19 01:00"),
        ("at 1 in the morning", "2026-11-19 01:00"),
        ("early tomorrow morning at five", "2026-11-19 05:00"),
        ("today at four", "2026-11-18 16:00"),
        ("by Friday", "2026-11-20 09:00"),
        ("by noon", "2026-11-18 12:00"),
        ("around seven", "2026-11-18 19:00"),
        ("about half six", "2026-11-18 18:30"),
        ("next week on Tuesday at nine", "2026-11-24 09:00"),
        ("Tuesday next week", "2026-11-24 09:00"),
        ("on the 20th", "2026-11-20 09:00"),
        ("on the 18th", "2026-12-18 09:00"),
        ("on the 31st at 8", "2026-12-31 08:00"),
        ("Friday the 20th at ten", "2026-11-20 10:00"),
        ("the 29th of February", "2028-02-29 09:00"),
        ("March 3rd at 3 p.m.", "2027-03-03 15:00"),
        ("on December the 1st at 14:30", "2026-12-01 14:30"),
        ("3 December 2027", "2027-12-03 09:00"),
        ("on Christmas Eve at five", "2026-12-24 17:00"),
        ("New Year's Day", "2027-01-01 09:00"),
        ("on Easter Sunday", "2027-03-28 09:00"),
        ("Halloween", "2027-10-31 09:00"),
        ("in half an hour", "2026-11-18 10:50"),
        ("in a quarter of an hour", "2026-11-18 10:35"),
        ("in 90 seconds", "2026-11-18 10:21"),
        ("in a couple of hours", "2026-11-18 12:20"),
        ("in 2 hours and 15 minutes", "2026-11-18 12:35"),
        ("half an hour from now", "2026-11-18 10:50"),
        ("an hour from now", "2026-11-18 11:20"),
        ("in an hour's time", "2026-11-18 11:20"),
        ("in three weeks' time", "2026-12-09 09:00"),
        ("three weeks from now", "2026-12-09 09:00"),
        ("three days from today", "2026-11-21 09:00"),
        ("in two weeks on Friday", "2026-12-04 09:00"),
        ("two weeks from Monday", "2026-12-07 09:00"),
        ("five minutes", "2026-11-18 10:25"),
        ("ten", "2026-11-18 22:00"),
        ("7", "2026-11-18 19:00"),
        ("tomorrow lunchtime", "2026-11-19 12:00"),
        ("tomorrow at noon", "2026-11-19 12:00"),
        ("Saturday night at eleven", "2026-11-21 23:00"),
        ("Saturday night at one", "2026-11-22 01:00"),
        ("Sunday at 8 in the morning", "2026-11-22 08:00"),
        ("8 in the morning on Sunday", "2026-11-22 08:00"),
        ("at eight on Sunday morning", "2026-11-22 08:00"),
        ("on the morning of the 3rd of March", "2027-03-03 09:00"),
        ("on the evening of December 24th at six", "2026-12-24 18:00"),
        ("six thirty tomorrow", "2026-11-19 18:30"),
        ("six forty five", "2026-11-18 18:45"),
        ("at seven oh five", "2026-11-18 19:05"),
        ("nineteen thirty", "2026-11-18 19:30"),
        ("at 1930", "2026-11-18 19:30"),
        ("at 0730", "2026-11-19 07:30"),
        ("730", "2026-11-18 19:30"),
        ("at 7.30", "2026-11-18 19:30"),
        ("7:30pm", "2026-11-18 19:30"),
        ("7:30PM on the 2nd of January", "2027-01-02 19:30"),
        ("ten to eight", "2026-11-18 19:50"),
        ("five past nine", "2026-11-18 21:05"),
        ("twenty five to six", "2026-11-18 17:35"),
        ("uh tomorrow at nine please", "2026-11-19 09:00"),
        ("tomorrow, at, um, nine", "2026-11-19 09:00"),
        ("at nine on Friday the 27th of November", "2026-11-27 09:00"),
        ("this time tomorrow", "2026-11-19 10:20"),
        ("same time tomorrow", "2026-11-19 10:20"),
        ("in the morning", "2026-11-19 09:00"),
        ("in the evening", "2026-11-18 18:00"),
        ("at night", "2026-11-18 20:00"),
        ("tomorrow's", "2026-11-19 09:00"),
        ("tomorrow night", "2026-11-19 20:00"),
        ("tomorrow afternoon at 3:20", "2026-11-19 15:20"),
        ("for tomorrow morning at 7", "2026-11-19 07:00"),
        ("for 6 am", "2026-11-19 06:00"),
        ("six am sharp", "2026-11-19 06:00"),
        ("Thursday 3pm", "2026-11-19 15:00"),
        ("3pm Thursday", "2026-11-19 15:00"),
        ("Thu at 3", "2026-11-19 15:00"),
        ("sat 9am", "2026-11-21 09:00"),
        ("on the 1st", "2026-12-01 09:00"),
        ("quarter past", "2026-11-18 11:15"),
        ("one", "2026-11-18 13:00"),
        ("at one", "2026-11-18 13:00"),
        ("half one", "2026-11-18 13:30"),
        ("12:15", "2026-11-18 12:15"),
        ("00:15", "2026-11-19 00:15"),
        ("12 am", "2026-11-19 00:00"),
        ("12 pm", "2026-11-18 12:00"),
        ("twelve", "2026-11-18 12:00"),
        ("at twelve tonight", "2026-11-19 00:00"),
        ("five days from now at noon", "2026-11-23 12:00"),
        ("in a minute", "2026-11-18 10:21"),
        ("in one minute", "2026-11-18 10:21"),
        ("in 1 hour", "2026-11-18 11:20"),
        ("in 36 hours", "2026-11-19 22:20"),
        ("in a day", "2026-11-19 09:00"),
        ("in a week", "2026-11-25 09:00"),
        ("a month from today", "2026-12-18 09:00"),
        ("this coming Thursday", "2026-11-19 09:00"),
        ("on Thursday coming at 4", "2026-11-19 16:00"),
        ("the following Friday", "2026-11-20 09:00"),
        ("a week today", "2026-11-25 09:00"),
        ("Wednesday at eleven", "2026-11-18 11:00"),
        ("20 minutes", "2026-11-18 10:40"),
        ("an hour", "2026-11-18 11:20"),
        ("the 5th of next month", "2026-12-05 09:00"),
        ("today at nine", "2026-11-18 21:00"),
    ],
)
def test_a_time_is_read(words: str, due: str) -> None:
    assert first(words) == due
    found = read(words)
    assert found
    assert found.repeat is None


@pytest.mark.parametrize(
    ("words", "due", "repeat"),
    [
        ("every Monday morning", "2026-11-23 09:00", Repeat(1, "week", (0,))),
        ("daily at eight", "2026-11-19 08:00", Repeat(1, "day")),
        ("on weekends at ten", "2026-11-21 10:00", Repeat(1, "week", (5, 6))),
        ("every two hours", "2026-11-18 12:20", Repeat(2, "hour")),
        ("on the first of every month", "2026-12-01 09:00", Repeat(1, "month", day=1)),
        (
            "the last Friday of every month at 5",
            "2026-11-27 17:00",
            Repeat(1, "month", (4,), nth=-1),
        ),
        ("every other Monday at eight", "2026-11-23 08:00", Repeat(2, "week", (0,))),
        ("every second Tuesday", "2026-11-24 09:00", Repeat(2, "week", (1,))),
        ("every 3 days", "2026-11-21 09:00", Repeat(3, "day")),
        ("every weekday at 6", "2026-11-18 18:00", Repeat(1, "week", WORKDAYS)),
        ("!every weekday at quarter past six", "2026-11-19 06:15", Repeat(1, "week", WORKDAYS)),
        ("weekdays at 7", "2026-11-19 07:00", Repeat(1, "week", WORKDAYS)),
        ("!6:30 on weekdays", "2026-11-19 06:30", Repeat(1, "week", WORKDAYS)),
        ("Monday to Friday at 7:15", "2026-11-19 07:15", Repeat(1, "week", WORKDAYS)),
        ("every Monday and Thursday at six pm", "2026-11-19 18:00", Repeat(1, "week", (0, 3))),
        (
            "on Mondays, Wednesdays and Fridays at 18:00",
            "2026-11-18 18:00",
            Repeat(1, "week", (0, 2, 4)),
        ),
        ("every morning", "2026-11-19 09:00", Repeat(1, "day")),
        ("every evening at nine", "2026-11-18 21:00", Repeat(1, "day")),
        ("every night at half past nine", "2026-11-18 21:30", Repeat(1, "day")),
        ("every morning at seven", "2026-11-19 07:00", Repeat(1, "day")),
        ("once a week on Sunday", "2026-11-22 09:00", Repeat(1, "week", (6,))),
        ("every week on Sunday evening", "2026-11-22 18:00", Repeat(1, "week", (6,))),
        ("every month on the 15th", "2026-12-15 09:00", Repeat(1, "month", day=15)),
        ("the 15th of each month at 10", "2026-12-15 10:00", Repeat(1, "month", day=15)),
        ("every year on the 3rd of March", "2027-03-03 09:00", Repeat(1, "year", day=3)),
        ("every 25th of December", "2026-12-25 09:00", Repeat(1, "year", day=25)),
        ("every Christmas", "2026-12-25 09:00", Repeat(1, "year", day=25)),
        ("every half hour", "2026-11-18 10:50", Repeat(30, "minute")),
        ("every hour", "2026-11-18 11:20", Repeat(1, "hour")),
        ("every hour and a half", "2026-11-18 11:50", Repeat(90, "minute")),
        ("every 20 minutes", "2026-11-18 10:40", Repeat(20, "minute")),
        ("every two hours starting at noon", "2026-11-18 12:00", Repeat(2, "hour")),
        ("hourly", "2026-11-18 11:20", Repeat(1, "hour")),
        ("quarter past six every day", "2026-11-18 18:15", Repeat(1, "day")),
        (
            "!quarter to seven every Saturday and Sunday",
            "2026-11-21 06:45",
            Repeat(1, "week", (5, 6)),
        ),
        ("at noon every weekday", "2026-11-18 12:00", Repeat(1, "week", WORKDAYS)),
        (
            "the first Monday of every month at ten",
            "2026-12-07 10:00",
            Repeat(1, "month", (0,), nth=1),
        ),
        ("every first Monday of the month", "2026-12-07 09:00", Repeat(1, "month", (0,), nth=1)),
        ("fortnightly on Tuesday at nine", "2026-11-24 09:00", Repeat(2, "week", (1,))),
        ("every 15 minutes from nine", "2026-11-18 21:00", Repeat(15, "minute")),
        (
            "every first Friday of the month at 5",
            "2026-12-04 17:00",
            Repeat(1, "month", (4,), nth=1),
        ),
        ("Monday mornings at eight", "2026-11-23 08:00", Repeat(1, "week", (0,))),
        ("weekday mornings at 7", "2026-11-19 07:00", Repeat(1, "week", WORKDAYS)),
        ("in the evenings at eight", "2026-11-18 20:00", Repeat(1, "day")),
        ("every Saturday night at one", "2026-11-22 01:00", Repeat(1, "week", (6,))),
        ("every 2 days at 8", "2026-11-19 08:00", Repeat(2, "day")),
        ("every month on the last Friday", "2026-11-27 09:00", Repeat(1, "month", (4,), nth=-1)),
        (
            "every Monday, Wednesday and Friday at 6",
            "2026-11-18 18:00",
            Repeat(1, "week", (0, 2, 4)),
        ),
        (
            "on the 25th of every month at half past ten",
            "2026-11-25 10:30",
            Repeat(1, "month", day=25),
        ),
    ],
)
def test_a_repetition_is_read_with_its_first_time(words: str, due: str, repeat: Repeat) -> None:
    assert first(words) == due
    found = read(words)
    assert found
    assert found.repeat == repeat


@pytest.mark.parametrize(
    "words",
    [
        "twice a day",
        "this Wednesday at 9 a.m.",
        "on Tuesday and Thursday at six",
        "midnight on Friday",
        "tomorrow at midnight",
        "this morning",
        "early tomorrow morning",
        "later today",
        "today",
        "before nine",
        "after lunch",
        "at six ish",
        "at 5 or 6",
        "between 5 and 6",
        "next week",
        "next month",
        "Friday the 21st at ten",
        "30th of February",
        "in a few minutes",
        "25",
        "at 25:00",
        "yesterday",
        "last Friday",
        "when I get home",
        "after work",
        "at bedtime",
        "every day except Sunday",
        "every january",
        "on my birthday",
        "the first Monday in December",
        "at 9 and at 12",
        "in 20",
        "in a bit",
        "soon",
        "now",
        "right now",
        "bank holiday Monday",
        "every third Friday",
        "two days",
        "month",
        "every day at 8 a.m. and 8 p.m.",
        "",
        "seven " * 1000,
        "every " * 1000,
        "the 32nd of January",
        "every day at nine on Friday",
        "in ten thousand years",
        "9999999999 o'clock",
        "on the 3rd of March 9999999",
    ],
)
def test_what_is_unsure_or_past_or_no_time_is_not_read(words: str) -> None:
    assert read(words) is None


@pytest.mark.parametrize(
    ("now", "words", "due"),
    [
        ("2026-11-20 10:20", "on Friday at eleven", "2026-11-20 11:00"),
        ("2026-11-20 10:20", "on Friday at nine", "2026-11-27 09:00"),
        ("2026-11-20 10:20", "Friday", "2026-11-27 09:00"),
        ("2026-11-20 10:20", "today at seven", "2026-11-20 19:00"),
        ("2026-11-20 10:20", "!today at seven", "2026-11-20 19:00"),
        ("2026-11-20 22:10", "!seven", "2026-11-21 07:00"),
        ("2026-11-20 22:10", "!two", "2026-11-21 02:00"),
        ("2026-11-20 04:00", "!seven", "2026-11-20 07:00"),
        ("2026-11-20 04:00", "seven", "2026-11-20 07:00"),
        ("2026-11-20 00:30", "tonight at one", "2026-11-20 01:00"),
        ("2026-11-20 00:30", "tonight at nine", "2026-11-20 21:00"),
        ("2026-11-20 00:30", "every night at one", "2026-11-20 01:00"),
        ("2026-11-20 21:00", "tonight", ""),
        ("2026-11-20 23:59", "midnight", "2026-11-21 00:00"),
        ("2026-12-31 23:00", "at noon", "2027-01-01 12:00"),
        ("2026-11-22 12:00", "next Monday", "2026-11-23 09:00"),
        ("2026-11-23 12:00", "next Monday", "2026-11-30 09:00"),
        ("2026-11-23 12:00", "next Friday", "2026-12-04 09:00"),
        ("2028-02-28 12:00", "tomorrow", "2028-02-29 09:00"),
        ("2026-01-31 12:00", "in a month", "2026-02-28 09:00"),
        ("2026-01-31 12:00", "on the 30th", "2026-03-30 09:00"),
    ],
)
def test_the_next_time_to_come_is_meant(now: str, words: str, due: str) -> None:
    assert first(words, datetime.fromisoformat(now)) == due


def test_durations_are_told_from_times_of_day() -> None:
    assert read("in twenty minutes") == Schedule(after=timedelta(minutes=20))
    assert read("half past nine tomorrow") == Schedule(
        local=datetime.fromisoformat("2026-11-19 09:30")
    )


@pytest.mark.parametrize(
    ("words", "timed"),
    [("tomorrow", False), ("tomorrow evening", False), ("tomorrow at six", True), ("noon", True)],
)
def test_whether_a_time_of_day_was_said_is_told(words: str, timed: bool) -> None:
    found = read(words)
    assert found
    assert found.timed is timed
