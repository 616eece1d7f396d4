"""Reads a date as an answer to a form: "last Tuesday", "about two weeks ago", "in March", "the
third of May 1980", "tomorrow".

A date has as much precision as the words have: "2026-11-17", "2026-03" or "1980", as in ISO 8601.
English only.
"""

import re
from datetime import date, timedelta

from assistant.language.absolute_dates import written
from assistant.language.calendar import MONTHS, SEASONS, WEEKDAYS
from assistant.language.days import (
    DAYS,
    MONTH,
    SHORT_DAYS,
    Phrase,
    as_digits,
    away,
    plain,
    take_day,
    take_past_day,
)
from assistant.language.spoken_times import ordinal_words_of
from assistant.language.word_lists import words_of

_UNIT = "(?P<unit>day|week|fortnight|month|year)s?"
_COUNTS = {"a few": "3", "few": "3", "several": "4", "couple of": "2", "couple": "2"}
_AGO = re.compile(
    rf"(?:for )?(?:the )?(?:last |past )?(?P<count>an?|\d+) {_UNIT}"
    r"(?: (?P<half>and a half))?(?: ago| back| now)?"
)
_NUMERIC = re.compile(r"(?P<a>\d{1,4})[-/.](?P<b>\d{1,2})[-/.](?P<c>\d{4}|\d{2})")
_SHORT_YEAR = re.compile(
    rf"\b(?:(?P<day>\d\d?)(?: of)? (?P<m1>{MONTH})|(?P<m2>{MONTH}) "
    r"(?P<day2>\d\d?)) (?P<year>\d\d)$"
)
_YEAR = r"(?P<year>(?:19|20) ?\d\d)"
_FULL_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_STEPS = {"last": -1, "this": 0, "next": 1}
NEAR = 300
"""Up to this many days away, a date is spoken without its year."""


def read_date(
    words: str, today: date, *, past: bool = False, with_year: bool = False
) -> str | None:
    """Return the date that the words name, in ISO 8601, or None if they say anything else.

    Args:
        today: the day on which the words were said.
        past: whether a day or a month without a year is the last one, not the next one.
        with_year: whether the words have to name the year.
    """
    if with_year and not _names_year(words):
        return None
    try:
        return _numeric(words, past=past) or _named(words, today, past=past)
    except (ValueError, OverflowError):  # no such day
        return None


def spoken_date(value: str, today: date) -> str:
    """Return a date of a form in words: "Tuesday, the tenth of November", "March", "1980"."""
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
    """Return a date of a form as it is written: "Tuesday 10 November 2026", "March 2026"."""
    if _FULL_DATE.fullmatch(value):
        return written(date.fromisoformat(value))
    year, _, month = value.partition("-")
    return f"{MONTHS[int(month) - 1]} {year}" if month else year


def is_date(value: str) -> bool:
    """Return whether a text is a date of a form."""
    if not re.fullmatch(r"\d{4}(?:-\d\d(?:-\d\d)?)?", value):
        return False
    try:
        date.fromisoformat(f"{value}-01-01"[:10])
    except ValueError:
        return False
    return True


# -- internals ----------------------------------------------------------------------------------


def _names_year(words: str) -> bool:
    said = _years_in_words(as_digits(plain(words)))
    numeric = _NUMERIC.fullmatch(words.strip(" .,!?")) is not None
    return numeric or re.search(rf"\b{_YEAR}\b", said) is not None or bool(_SHORT_YEAR.search(said))


def _numeric(words: str, *, past: bool) -> str | None:
    """Read "1980-05-03" and "3/5/1980". The day comes first, unless it can't."""
    found = _NUMERIC.fullmatch(words.strip(" .,!?"))
    if found is None:
        return None
    first, second, third = (int(found[name]) for name in "abc")
    if len(found["a"]) == 4:
        return date(first, second, third).isoformat()
    year = third if len(found["c"]) == 4 else _century(third, past=past)
    day, month = (first, second) if second <= 12 else (second, first)
    return date(year, month, day).isoformat()


def _century(year: int, *, past: bool) -> int:
    """Return the whole of a year of two digits."""
    return 2000 + year if not past or year <= 26 else 1900 + year


def _named(words: str, today: date, *, past: bool) -> str | None:
    said = plain(words)
    for vague, count in _COUNTS.items():
        said = re.sub(rf"\b(?:a )?{vague}\b(?= (?:day|week|fortnight|month|year))", count, said)
    said = _years_in_words(as_digits(said))
    said = re.sub(r"\b(?:then|um|uh|er|like|say)\b", " ", said)
    said = re.sub(r"\bthis (?:morning|afternoon|evening)\b|\btonight\b", "today", said)
    said = re.sub(r"\blast night\b", "yesterday", said)
    said = re.sub(r"\b(?:in the )?(?:morning|afternoon|evening|night|lunchtime)\b", " ", said)
    for read in (_since_length, _whole_day, _month, _year):
        phrase = Phrase(" ".join(said.split()))
        found = read(phrase, today, past)
        if found is not None and not phrase.segments(words_of("forms", "around_date")):
            return found
    return None


def _years_in_words(said: str) -> str:
    """Join the two halves of a year: "19 84" as 1984, "20 0 3" as 2003, "20 oh 3", too."""
    said = re.sub(r"\b(19|20) (?:0|oh|o) (\d)\b", r"\g<1>0\2", said)
    said = re.sub(r"\b(19|20) (\d\d)\b", r"\1\2", said)
    return re.sub(r"\b2000 and (\d\d?)\b", lambda found: str(2000 + int(found[1])), said)


def _whole_day(phrase: Phrase, today: date, past: bool) -> str | None:
    if found := _SHORT_YEAR.search(phrase.left):
        months = [name[:3].lower() for name in MONTHS]
        month = months.index((found["m1"] or found["m2"])[:3]) + 1
        year = _century(int(found["year"]), past=past)
        phrase.left = f"{phrase.left[: found.start()]}|{phrase.left[found.end() :]}"
        return date(year, month, int(found["day"] or found["day2"])).isoformat()
    if found := phrase.take(
        rf"(?:on |last )?(?P<name>{_names()}) (?:of )?(?:last week|before last)"
    ):
        monday = today - timedelta(days=today.weekday() + 7)
        return (monday + timedelta(days=_weekday(found["name"]))).isoformat()
    if found := phrase.take(rf"last (?P<name>{_names()})"):
        # Nobody calls yesterday "last Tuesday".
        back = (today.weekday() - _weekday(found["name"]) - 1) % 7 + 1
        return (today - timedelta(days=back + 7 * (back == 1))).isoformat()
    days = take_past_day(phrase, today)
    if days:
        return days[0].isoformat()
    if past and (found := phrase.take(rf"(?:this |on )?(?P<name>{_names()})")):
        back = (today.weekday() - _weekday(found["name"])) % 7 or 7
        return (today - timedelta(days=back)).isoformat()
    before = phrase.left
    days = take_day(phrase, today, past=past)
    if not days:
        return None
    return (_last(before, days[0], today) if past and days[0] > today else days[0]).isoformat()


def _last(said: str, day: date, today: date) -> date:
    """Return the last day that is named so, if `day` is the next one."""
    if re.search(rf"\b(?:{MONTH})\b|christmas|easter|new year|halloween", said):
        return away(day, -1, "year")
    if re.search(r"\bthe \d+|^\d+$", said):
        return away(day, -1, "month")
    return day if day <= today else away(day, -1, "week")


def _since_length(phrase: Phrase, today: date, past: bool) -> str | None:
    """Read "two weeks ago". If the date lies in the past, "for two weeks" means the same. Of months
    and years, only the month or the year is known."""
    found = phrase.take(_AGO.pattern)
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
    """Read "in March", "last May", "early summer" as the month in which it begins."""
    names = "|".join((*(name.lower() for name in MONTHS), *SEASONS))
    found = phrase.take(
        rf"(?:(?P<way>last|this|next) )?(?P<name>{names})"
        rf"(?: (?:of )?(?:{_YEAR}|(?P<near>last|this|next) year))?"
    )
    if found is None:
        unit = phrase.take(r"(?P<way>last|this|next) month")
        first = today.replace(day=1)
        return away(first, _STEPS[unit["way"]], "month").isoformat()[:7] if unit else None
    months = [name.lower() for name in MONTHS]
    name = found["name"]
    month = months.index(name) + 1 if name in months else SEASONS[name]
    if found["year"]:
        return f"{found['year'].replace(' ', '')}-{month:02d}"
    if found["near"]:
        return f"{today.year + _STEPS[found['near']]}-{month:02d}"
    back = past or found["way"] == "last"
    year = today.year - (month > today.month) if back else today.year + (month < today.month)
    return f"{year}-{month:02d}"


def _year(phrase: Phrase, today: date, past: bool) -> str | None:
    if found := phrase.take(r"(?P<way>last|this|next) year"):
        return str(today.year + _STEPS[found["way"]])
    if found := phrase.take(r"(?P<way>last|this) week") if past else None:
        monday = today - timedelta(days=today.weekday() + 7 * (found["way"] == "last"))
        return monday.isoformat()
    found = phrase.take(_YEAR)
    return found["year"].replace(" ", "") if found else None


def _names() -> str:
    return "|".join((DAYS, *SHORT_DAYS))


def _weekday(name: str) -> int:
    names = [each.lower() for each in WEEKDAYS]
    return names.index(name) if name in names else SHORT_DAYS[name]
