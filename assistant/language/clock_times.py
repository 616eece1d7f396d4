"""Reads times of day: "half past seven", "quarter to eight", "7:30", "three in the afternoon"."""

import re
from datetime import time

from assistant.language.calendar import MINUTES_OF_DAY
from assistant.language.numbers import with_digits

_CLOCK = re.compile(
    r"(?:at )?"
    r"(?:(?P<past>half|(?:a )?quarter|\d\d?)(?: minutes?)? (?P<side>past|after|to|till?|before|of) "
    r"|(?P<half_past>half) )?"
    r"(?P<hour>\d\d?)(?:(?:[: ] ?(?P<minute>[0-5]\d)| ?(?:oh?|0) (?P<single>\d))(?!\d))?"
    r"(?: ?o ?clock)?"
    r"(?: ?(?P<half>am|pm|a m|p m|in the morning|this morning|in the afternoon|this afternoon"
    r"|in the evening|this evening|at night|tonight))?"
)
_TOGETHER = re.compile(
    r"(?:at )?(?:(?P<short>\d)|(?P<long>\d\d))(?P<minute>[0-5]\d)(?P<hours> hours?| [ap] ?m)?"
)
"""Matches an hour and minutes that are written without a sign between them."""
_EXACT = {"noon": 12, "midday": 12, "midnight": 0, "12 noon": 12, "12 midnight": 0}


def clock_time(said: str) -> tuple[time, bool] | None:
    """Read a time of day, or return None. The second value says whether the half of the day is
    known: it isn't in "seven" and "7:30", but it is in "7 pm", "19:30" and "07:30".

    "Half seven" is half past seven, as in Britain.

    Args:
        said: words in lower case, without punctuation other than colons.
    """
    text = " ".join(with_digits(said.split(), lone=True))
    named = text.removeprefix("at ")
    if named in _EXACT:
        return time(_EXACT[named]), True
    if together := _TOGETHER.fullmatch(text):
        text = _apart(together)
    found = _CLOCK.fullmatch(text)
    if found is None or int(found["hour"]) > 24:
        return None
    hour, minute = int(found["hour"]), _minutes(found)
    if minute is None or (hour == 24 and minute):
        return None
    half = (found["half"] or "").replace(" ", "")
    exact = bool(half) or hour > 12 or hour == 0 or found["hour"][0] == "0"
    total = (60 * _of_day(hour, half) + minute) % MINUTES_OF_DAY
    return time(total // 60, total % 60), exact


def _apart(found: re.Match[str]) -> str:
    """Separate the hour and the minutes of "730" and "0730 hours". Numbers from 1900 on are left
    unchanged unless "hours", "am" or "pm" follows, because they may be years."""
    hour, more = found["short"] or found["long"], found["hours"] or ""
    if found["long"] and not (more or hour[0] == "0" or int(hour) < 19):
        return found[0]
    hour = f"0{hour}" if "hour" in more and len(hour) == 1 else hour
    return f"{hour}:{found['minute']}{'' if 'hour' in more else more}"


def _minutes(found: re.Match[str]) -> int | None:
    """Return the minutes after the full hour; negative for minutes before it. None if the words
    contradict each other: "ten past seven thirty"."""
    minute = int(found["minute"] or found["single"] or 0)
    if not (found["past"] or found["half_past"]):
        return minute
    part = (found["past"] or "half").removeprefix("a ")
    count = {"half": 30, "quarter": 15}.get(part) or int(part)
    if not 0 < count < 60 or found["minute"] or found["single"]:
        return None
    return -count if found["side"] in ("to", "til", "till", "before", "of") else count


def _of_day(hour: int, half: str) -> int:
    """Return the hour on a 24-hour clock, given the words for the half of the day."""
    night = half in ("atnight", "tonight")
    late = half == "pm" or "noon" in half or "evening" in half or (night and hour >= 6)
    if hour == 12 and half:
        return 12 if late and not night else 0
    return hour + 12 if late and hour < 12 else hour
