"""Counts the days, weeks or months until a date, since a date, and between two dates."""

import re
from calendar import monthrange
from datetime import date, datetime, timedelta

from assistant.language.calendar import MONTHS
from assistant.language.clock_times import clock_time
from assistant.language.days import away, named_day, plain
from assistant.language.spoken_numbers import whole_number
from assistant.language.spoken_times import spoken_duration

_ASKED = (
    r"(?:what is |whats )?(?:the )?(?:how many |number of )?"
    r"(?P<unit>days?|sleeps|nights|weeks?|months?|years?|hours|minutes|how long)"
    r"(?: (?:is it|is that|are there|are left|is there|has it been|have passed|left|to go"
    r"|are we|it is|away"
    r"|it has been|until it is|exactly))*"
)
_UNTIL = re.compile(rf"{_ASKED} (?:until|till|til|before|to|up to|away is|off is) (?P<to>.+)")
_AWAY = re.compile(rf"{_ASKED} (?:is|are) (?P<to>.+?)(?: away| off)?")
_SINCE = re.compile(rf"{_ASKED} (?:since|ago was|ago is) (?P<since>.+)")
_BETWEEN = re.compile(rf"{_ASKED} (?:between (?P<a>.+?) and|from (?P<c>.+?) (?:to|until|till)) "
                      r"(?P<b>.+)")  # fmt: skip
_LENGTH = re.compile(
    r"(?:how many |number of )?days (?:are there |are |does )?(?:in )?(?P<month>[a-z]+)"
    r"(?: (?P<year>(?:1[89]|20)\d\d))?(?: have)?"
)
_MONTHS = tuple(name.lower() for name in MONTHS)
_YEAR = re.compile(r"\b(?:of )?((?:1[89]|20)\d\d)$")


def date_sum(words: str, now: datetime) -> str | None:
    """Return the number of days or other units that the user asks for, in words. Return None if
    `words` ask for something else.

    Args:
        now: local time.
    """
    said = re.sub(r"^(?:so|and|ada|tell me|can you tell me) ", "", plain(words))
    today = now.date()
    if (found := _LENGTH.fullmatch(said)) and found["month"] in _MONTHS:
        return _month_length(1 + _MONTHS.index(found["month"]), found["year"])
    if found := _BETWEEN.fullmatch(said):
        first = _coming(found["a"] or found["c"], today)
        last = _coming(found["b"], first) if first else None
        return _counted(first, last, found["unit"]) if first and last else None
    if found := _SINCE.fullmatch(said):
        first = _past(found["since"], today)
        return _counted(first, today, found["unit"]) if first else None
    found = _UNTIL.fullmatch(said) or _AWAY.fullmatch(said)
    if found is None:
        return None
    last = _coming(found["to"], today)
    if last is None:
        return _until_clock(found["to"], found["unit"], now)
    return _counted(today, last, found["unit"])


def _coming(words: str, today: date) -> date | None:
    """Return the next day that the words name. If they give a year, the day may be in the past."""
    text = re.sub(r" (?:is|be|comes|starts)$", "", words)
    if text == "now":
        return today
    year = _YEAR.search(text)
    if text in _MONTHS:
        text = f"1 {text}"
    if year is None:
        return named_day(text, today)
    day = named_day(text[: year.start()], date(int(year[1]), 1, 1))
    return day if day and day.year == int(year[1]) else None


def _month_length(month: int, year: str | None) -> str:
    if month == 2 and year is None:
        return "twenty-eight days, or twenty-nine in a leap year"
    return _units(monthrange(int(year or 2001), month)[1], "day")


def _past(words: str, today: date) -> date | None:
    """Return the most recent day that the words name."""
    if _YEAR.search(words):
        day = _coming(words, today)
        return day if day and day <= today else None
    day = named_day(words, today)
    if day is not None and day < today:
        return day
    if re.search(r"\b(?:next|today|tomorrow|in)\b", words):
        return None
    before = [named_day(words, today - timedelta(days=back)) for back in (7, 31, 365)]
    return next((day for day in before if day and day < today), None)


def _until_clock(words: str, unit: str, now: datetime) -> str | None:
    """Return, in words, the time until the clock next shows the named time of day."""
    clock = clock_time(words)
    if clock is None or unit not in ("how long", "hours", "minutes"):
        return None
    at, exact = clock
    start = now.replace(hour=at.hour % 24, minute=at.minute, second=0, microsecond=0)
    if not exact:
        start = start.replace(hour=at.hour % 12)
    step = timedelta(days=1) if exact else timedelta(hours=12)
    start = now.replace(second=0, microsecond=0, hour=start.hour, minute=start.minute)
    while start <= now:
        start += step
    minutes = round((start - now).total_seconds() / 60)
    return _units(minutes, "minute") if unit == "minutes" else spoken_duration(60 * max(1, minutes))


def _counted(first: date, last: date, unit: str) -> str | None:
    """Return the time between two days in words."""
    if last < first:
        first, last = last, first
    days = (last - first).days
    unit = unit.removesuffix("s")
    if unit in ("sleep", "night"):
        return _units(days, unit)
    if unit in ("day", "how long"):
        return _units(days, "day")
    if unit == "hour":
        return _units(24 * days, "hour")
    if unit == "minute":
        return _units(1440 * days, "minute")
    whole = days // 7 if unit == "week" else _whole(first, last, unit)
    left = (last - away(first, whole, unit)).days
    if not whole:
        return _units(days, "day")
    words = _units(whole, unit)
    return f"{words} and {_units(left, 'day')}" if left else words


def _whole(first: date, last: date, unit: str) -> int:
    """Return the number of whole months or years between two days."""
    months = 12 * (last.year - first.year) + last.month - first.month
    count = months if unit == "month" else months // 12
    return count - (away(first, count, unit) > last)


def _units(count: int, unit: str) -> str:
    return f"{whole_number(count)} {unit}{'s' * (count != 1)}"
