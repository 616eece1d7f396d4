"""Reads a date as an answer to a form: "last Tuesday", "about two weeks ago", "in March", "the
third of May 1980", "tomorrow".

A date is as precise as the words: "2026-11-17", "2026-03" or "1980", as in ISO 8601. English only.
"""

import re
from datetime import date, timedelta

from assistant.forms.date_spelling import YEAR, in_one_spelling
from assistant.forms.whole_days import take_whole_day
from assistant.language.absolute_dates import written
from assistant.language.calendar import MONTHS, SEASONS, WEEKDAYS
from assistant.language.days import Phrase, away
from assistant.language.spoken_times import ordinal_words_of
from assistant.language.word_lists import words_of

_UNIT = "(?P<unit>day|week|fortnight|month|year)s?"
_AGO = (
    rf"(?:for )?(?:the )?(?:last |past )?(?<!\bin )(?P<count>an?|\d+) {_UNIT}"
    r"(?: (?P<half>and a half))?(?: ago| back| now)?(?! from\b)"
)
_FULL_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_LATER_MONTHS = 2
"""Number of months of a season after its first."""
_STEPS = {"last": -1, "this": 0, "next": 1}
NEAR = 300
"""A date that is at most this many days away is spoken without its year."""


def read_date(
    words: str, today: date, *, past: bool = False, with_year: bool = False
) -> str | None:
    """Return the date that the words name, in ISO 8601, or None if they say anything else.

    Args:
        today: the day on which the words were said.
        past: whether a day or a month named without its year lies in the past, not the future.
            After "since", it always does.
        with_year: whether the words have to name the year.
    """
    past = past or re.match(r"\W*since\b", words, re.IGNORECASE) is not None
    try:
        said = in_one_spelling(words, today, past=past, listed=with_year)
        if with_year and not re.search(rf"\b{YEAR}\b", said):
            return None
        return _named(said, today, past=past)
    except (ValueError, OverflowError):  # no such day
        return None


def spoken_date(value: str, today: date) -> str:
    """Return a form's date in words: "Tuesday, the tenth of November", "March", "1980"."""
    if not _FULL_DATE.fullmatch(value):
        year, _, month = value.partition("-")
        return f"{MONTHS[int(month) - 1]} {year}" if month else year
    day = date.fromisoformat(value)
    away_by = abs((day - today).days)
    names = {-1: "yesterday", 0: "today", 1: "tomorrow"}
    if (day - today).days in names:
        return names[(day - today).days]
    words = f"the {ordinal_words_of(day.day)} of {MONTHS[day.month - 1]}"
    if away_by > NEAR:
        return f"{words} {day.year}"
    return f"{WEEKDAYS[day.weekday()]}, {words}"


def shown_date(value: str) -> str:
    """Return a form's date as it is written: "Tuesday 10 November 2026", "March 2026"."""
    if _FULL_DATE.fullmatch(value):
        return written(date.fromisoformat(value))
    year, _, month = value.partition("-")
    return f"{MONTHS[int(month) - 1]} {year}" if month else year


def is_date(value: str) -> bool:
    """Return whether a text is a date as forms store it."""
    if not re.fullmatch(r"\d{4}(?:-\d\d(?:-\d\d)?)?", value):
        return False
    try:
        date.fromisoformat(f"{value}-01-01"[:10])
    except ValueError:
        return False
    return True


# -- internals ----------------------------------------------------------------------------------


def _named(said: str, today: date, *, past: bool) -> str | None:
    for read in (_since_length, _whole_day, _month, _year):
        phrase = Phrase(said)
        found = read(phrase, today, past)
        if found is not None and not phrase.segments(words_of("forms", "around_date")):
            return found
    return None


def _whole_day(phrase: Phrase, today: date, past: bool) -> str | None:
    day = take_whole_day(phrase, today, past)
    return day.isoformat() if day else None


def _since_length(phrase: Phrase, today: date, past: bool) -> str | None:
    """Read "two weeks ago". If `past`, "for two weeks" means the same. If months or years are
    counted, only the month or the year is known."""
    found = phrase.take(_AGO)
    if found is None or not (past or found[0].endswith(("ago", "back"))):
        return None
    count = 1 if found["count"].startswith("a") else int(found["count"])
    day = away(today, -count, found["unit"])
    if found["half"]:
        day -= timedelta(days={"week": 3, "month": 15, "year": 182}.get(found["unit"], 0))
    if found["unit"] == "year":
        return str(day.year)
    return day.isoformat()[:7] if found["unit"] == "month" else day.isoformat()


def _month(phrase: Phrase, today: date, past: bool) -> str | None:
    """Read "in March", "last May" or "early summer". A season is read as its first month."""
    names = "|".join((*(name.lower() for name in MONTHS), *SEASONS))
    found = phrase.take(
        rf"(?:(?P<way>last|this|next) )?(?P<name>{names})"
        rf"(?: (?:of )?{YEAR})?"
    )
    if found is None:
        unit = phrase.take(r"(?P<way>last|this|next) month")
        first = today.replace(day=1)
        return away(first, _STEPS[unit["way"]], "month").isoformat()[:7] if unit else None
    months = [name.lower() for name in MONTHS]
    name = found["name"]
    month = months.index(name) + 1 if name in months else SEASONS[name]
    if found["year"]:
        return f"{found['year']}-{month:02d}"
    if found["way"] == "last":
        year = today.year - (month + (0 if name in months else _LATER_MONTHS) >= today.month)
    elif found["way"] == "next":
        year = today.year + (month <= today.month)
    elif past:
        year = today.year - (month > today.month)
    else:
        year = today.year + (month < today.month)
    return f"{year}-{month:02d}"


def _year(phrase: Phrase, today: date, past: bool) -> str | None:
    edge = r"(?:the )?(?:very )?(?P<edge>start|beginning|end|back end) of "
    if found := phrase.take(rf"{edge}(?:the|(?P<way>last|this|next)) year"):
        year = today.year + _STEPS[found["way"] or "this"]
        return f"{year}-{12 if 'end' in found['edge'] else 1:02d}"
    if found := phrase.take(r"(?P<way>last|this|next) year"):
        return str(today.year + _STEPS[found["way"]])
    if found := phrase.take(r"(?P<way>last|this) week") if past else None:
        monday = today - timedelta(days=today.weekday() + 7 * (found["way"] == "last"))
        return monday.isoformat()
    found = phrase.take(YEAR)
    return found["year"] if found else None
