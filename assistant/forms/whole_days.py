"""Reads words that name one day: by its date, by a holiday, by its weekday, or by its distance from
another day ("the second Tuesday in June", "two days before Christmas", "a week last Sunday").

The words are in the spelling of `date_spelling`. English only.
"""

import re
from datetime import date, timedelta

from assistant.forms.date_spelling import YEAR
from assistant.language.calendar import MONTHS, nth_weekday, week_of
from assistant.language.days import (
    DAYS,
    FEAST,
    MONTH,
    SHORT_DAYS,
    Phrase,
    away,
    take_day,
    take_past_day,
    weekday_of,
)

_NAMES = "|".join((DAYS, *SHORT_DAYS))
_NAMED = rf"{_NAMES}|weekend"
_STEPS = {"last": -1, "this": 0, "next": 1}
_MONTHS_AHEAD = 12
"""Number of months before and after this one that are searched for a day whose year isn't said."""


def take_whole_day(phrase: Phrase, today: date, past: bool) -> date | None:
    """Take the words that name one day out of the phrase. Return the day.

    Args:
        past: whether a day named without year, month or week lies in the past, not the future.

    Raises:
        ValueError: there is no such day.
    """
    return (
        _in_month(phrase, today, past)
        or _beside(phrase, today, past)
        or _week_of(phrase, today, past)
        or _by_rank(phrase, today)
        or _weeks_back(phrase, today)
        or _dated(phrase, today, past)
        or _by_weekday(phrase, today, past)
        or _other(phrase, today, past)
    )


# -- internals ----------------------------------------------------------------------------------


def _in_month(phrase: Phrase, today: date, past: bool) -> date | None:
    """Read "the second Tuesday in June", "the last weekend of the month", "the first week of May"
    (its first day), "the 11th of last month" and "Monday the 16th"."""
    of = (
        rf"(?:in|of) (?:(?:the )?(?P<way>last|this|next) month|the month|"
        rf"(?P<month>{MONTH})(?: (?:of )?{YEAR})?)"
    )
    found = phrase.take(
        rf"(?:on )?(?:the )?(?:(?P<rank>[1-5])th|(?P<end>last)) (?P<name>{_NAMED}|week) {of}"
    )
    if found:
        rank, firsts = int(found["rank"] or -1), _firsts(found, today)
        days = [_nth(first, _weekday(found["name"]), rank) for first in firsts]
        return _nearest(days, today, past)
    found = phrase.take(
        rf"(?:on )?(?:(?P<name>{_NAMES}) )?(?:on )?the (?P<day>\d\d?) of (?:(?:the )?"
        r"(?P<way>last|this|next)|the) month"
    ) or phrase.take(
        rf"(?:on )?(?P<name>{_NAMES}) (?:on )?the (?P<day>\d\d?)(?! (?:of )?(?:the )?(?:{MONTH}))"
    )
    if found is None:
        return None
    days = [_day_of(first, int(found["day"])) for first in _firsts(found, today)]
    wanted = None if found["name"] is None else _weekday(found["name"])
    fits = [day if day and wanted in (None, day.weekday()) else None for day in days]
    return _nearest(fits, today, past)


def _firsts(found: re.Match[str], today: date) -> list[date]:
    """Return the first days of the months that may be meant, in order."""
    first, fields = today.replace(day=1), found.groupdict()
    if way := fields.get("way"):
        return [away(first, _STEPS[way], "month")]
    if year := fields.get("year"):
        first = date(int(year), 1, 1)
        all_of = [away(first, step, "month") for step in range(12)]
    else:
        steps = range(-_MONTHS_AHEAD, _MONTHS_AHEAD + 1)
        all_of = [away(first, step, "month") for step in steps]
    month = fields.get("month")
    wanted = next((n for n, name in enumerate(MONTHS, 1) if month and _same(name, month)), None)
    return [each for each in all_of if wanted in (None, each.month)]


def _same(name: str, month: str) -> bool:
    return name[:3].lower() == month[:3]


def _nth(first: date, weekday: int, rank: int) -> date | None:
    try:
        return nth_weekday(first.year, first.month, weekday, rank)
    except ValueError:  # no fifth one
        return None


def _day_of(first: date, number: int) -> date | None:
    day = first + timedelta(days=number - 1)
    return day if number and day.month == first.month else None


def _nearest(found: list[date | None], today: date, past: bool) -> date | None:
    """If only one month is meant, return its day. Otherwise, return the last day up to today (if
    `past`) or the first one from today on."""
    if len(found) == 1:
        return found[0]
    days = [day for day in found if day is not None]
    if past:
        return max((day for day in days if day <= today), default=None)
    return min((day for day in days if day >= today), default=None)


def _beside(phrase: Phrase, today: date, past: bool) -> date | None:
    """Read "two days before Thanksgiving", "the day after the 3rd of May", "the Wednesday before
    Christmas"."""
    unit = r"(?P<count>an?|the|\d+) (?P<unit>day|week|fortnight|month|year)s?"
    found = phrase.take(
        rf"(?:{unit}|(?:on )?(?:the )?(?P<name>{_NAMED})) (?P<way>before|after) "
        rf"(?P<base>.*\b(?:{FEAST}|{MONTH})\b.*)"
    )
    if found is None:
        return None
    if found["count"] == "the" and found["unit"] != "day":
        return None
    for years in (1, 0, -1) if past else (-1, 0, 1):
        base = Phrase(found["base"])
        near = _dated(base, away(today, years, "year"), past)
        if near is None or base.segments(frozenset(["the"])):
            return None
        day = _from(near, found)
        if re.search(rf"\b{YEAR}\b", found["base"]) or (day <= today if past else day >= today):
            return day
    return None


def _from(base: date, found: re.Match[str]) -> date:
    sign = 1 if found["way"] == "after" else -1
    if found["unit"]:
        return away(base, sign * _count(found["count"]), found["unit"])
    step = (sign * (_weekday(found["name"]) - base.weekday()) - 1) % 7 + 1
    return base + timedelta(days=sign * step)


def _week_of(phrase: Phrase, today: date, past: bool) -> date | None:
    """Read "the week of the 8th of July" as its first day."""
    found = phrase.take(rf"(?:the )?week (?:of|beginning|commencing)(?= .*\b(?:{MONTH}|{FEAST}))")
    day = _dated(phrase, today, past) if found else None
    return week_of(day).first if day else None


def _by_rank(phrase: Phrase, today: date) -> date | None:
    """Read "the weekend before last", "the Christmas before last" and "the Thursday after next",
    which is a week after "next Thursday"."""
    if found := phrase.take(rf"(?:on )?(?:the )?(?P<name>{_NAMED}) before last"):
        return _previous(found["name"], _previous(found["name"], today))
    if found := phrase.take(rf"(?:on )?(?:the )?(?P<name>{_NAMED}) after next"):
        return week_of(today).first + timedelta(days=14 + _weekday(found["name"]))
    if found := phrase.take(rf"(?:the )?(?P<feast>{FEAST}) before last"):
        last = _dated(Phrase(found["feast"]), today - timedelta(days=1), True)
        return last and _dated(Phrase(found["feast"]), last - timedelta(days=1), True)
    return None


def _weeks_back(phrase: Phrase, today: date) -> date | None:
    """Read "a week ago Saturday", "a week last Sunday", "a week on Monday past", "Sunday gone" and
    "Tuesday of last week"."""
    weeks = r"(?P<count>an?|\d+) (?P<unit>week|fortnight)s?"
    name = rf"(?P<name>{_NAMES}|today|yesterday)"
    found = (
        phrase.take(rf"{weeks} ago (?:on |last )?{name}")
        or phrase.take(rf"{weeks} (?:on )?(?:last|past) {name}")
        or phrase.take(rf"{weeks} (?:on )?{name} (?:past|gone)")
        or phrase.take(rf"{name} (?:a )?(?P<count>)(?P<unit>week|fortnight) ago")
    )
    if found:
        return away(_previous(found["name"], today), -_count(found["count"]), found["unit"])
    if found := phrase.take(
        rf"(?:on )?(?:the )?(?:last )?(?P<name>{_NAMED}) (?:just )?(?:gone|past)"
    ):
        return _previous(found["name"], today)
    if found := phrase.take(r"(?:the )?(?:last|past) (?P<name>weekend)"):
        return _previous(found["name"], today)
    if found := phrase.take(rf"(?:on |last )?(?P<name>{_NAMES}) (?:of )?last week"):
        return week_of(today).first + timedelta(days=_weekday(found["name"]) - 7)
    if found := phrase.take(rf"(?:on )?last (?P<name>{_NAMES})"):
        day = _previous(found["name"], today)
        # Nobody calls yesterday "last Tuesday".
        return day - timedelta(days=7 * ((today - day).days == 1))
    return None


def _previous(name: str, day: date) -> date:
    """Return the last day with this name before `day`. A weekend to which `day` itself belongs
    doesn't count."""
    if name in ("today", "yesterday"):
        return day - timedelta(days=int(name == "yesterday"))
    if name == "weekend":
        return week_of(day).first - timedelta(days=2)
    return day - timedelta(days=(day.weekday() - _weekday(name) - 1) % 7 + 1)


def _dated(phrase: Phrase, today: date, past: bool) -> date | None:
    """Read a date or a holiday. If its weekday is said, but no year, it must be within a year."""
    if not re.search(rf"\b(?:{MONTH}|{FEAST})\b", phrase.left):
        return None
    if found := phrase.take(rf"(?P<way>last|this|next)(?= (?:{FEAST})\b)"):
        past = found["way"] == "last"
    with_year = re.search(rf"\b{YEAR}\b", phrase.left) is not None
    named = re.search(rf"\b(?:{_NAMES})\b", re.sub(FEAST, "", phrase.left)) is not None
    since = away(today, -1, "year") if past and not with_year else today
    days = take_day(phrase, since, past=True)
    if past and not with_year:
        return max((day for day in days if day <= today), default=None)
    far = named and not with_year and days and days[0] > away(today, 1, "year")
    return days[0] if days and not far else None


def _by_weekday(phrase: Phrase, today: date, past: bool) -> date | None:
    days = take_past_day(phrase, today)
    if days:
        return days[0]
    if past and (found := phrase.take(rf"(?:this |on )?(?P<name>{_NAMES})")):
        return _previous(found["name"], today)
    return None


def _other(phrase: Phrase, today: date, past: bool) -> date | None:
    """Read everything else that `take_day` can read. If `past`, move a future day back; this works
    only for a weekend or a day of the month ("the 5th")."""
    before = phrase.left
    days = take_day(phrase, today)
    if not days or not past or days[0] <= today:
        return days[0] if days else None
    if re.search(r"\bthe \d", before):
        days = take_day(Phrase(before), away(today, -2, "month"))
        return max((day for day in days if day <= today), default=None)
    moved = "weekend" in before and not re.search(r"\b(?:next|coming)\b", before)
    return days[0] - timedelta(days=7) if moved else None


def _weekday(name: str) -> int:
    """Return the number of a weekday. A week begins on Monday, a weekend on Saturday."""
    begins = {"week": 0, "weekend": 5}
    return begins[name] if name in begins else weekday_of(name)


def _count(words: str) -> int:
    return int(words) if words.isdigit() else 1
