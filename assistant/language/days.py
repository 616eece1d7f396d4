"""Reads phrases that name a single day, usually in the future: "tomorrow", "next Friday", "a week
on Monday", "the 3rd of March", "Christmas Eve".

`time_expressions` finds ranges of days, for searching the memories.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from functools import cache
from itertools import islice

from assistant.language.calendar import FEASTS, MONTHS, WEEKDAYS, nth_weekday
from assistant.language.numbers import with_digits

DAYS = "|".join(name.lower() for name in WEEKDAYS)
"""A pattern for the name of a weekday."""
SHORT_DAYS = {
    "mon": 0,
    "tue": 1,
    "tues": 1,
    "wed": 2,
    "weds": 2,
    "thu": 3,
    "thur": 3,
    "thurs": 3,
    "fri": 4,
    "sat": 5,
    "sun": 6,
}
SHORT_MONTHS = ("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sept", "sep", "oct", "nov", "dec")
MONTH = "|".join((*(name.lower() for name in MONTHS), *SHORT_MONTHS))
_NUMBER = r"(?!0+\b)\d\d?(?! ?[:.]| (?:am|pm|oclock|past|to|til|till|minutes?|hours?)\b)"
_YEAR = r"(?: (?:(?:of )?(?P<year>(?:19|20) ?\d\d)|(?P<near>this|next) year))?"
_WEEK = r"week|fortnight"
_FIXED = {
    "christmas eve": (12, 24),
    "christmas": (12, 25),
    "christmas day": (12, 25),
    "xmas": (12, 25),
    "boxing day": (12, 26),
    "new year eve": (12, 31),
    "new years eve": (12, 31),
    "new year day": (1, 1),
    "new years day": (1, 1),
    "new year": (1, 1),
    "halloween": (10, 31),
    "valentine day": (2, 14),
    "valentines day": (2, 14),
    "bonfire night": (11, 5),
}
_EASTER = {
    "shrove tuesday": -45,
    "pancake day": -45,
    "ash wednesday": -44,
    "palm sunday": -5,
    "maundy thursday": -1,
    "good friday": 0,
    "easter": 2,
    "easter sunday": 2,
    "easter monday": 3,
    "whitsun": 51,
    "whit sunday": 51,
    "whit monday": 52,
}
"""Number of days after the first day of Easter in `FEASTS`."""
_RANKED = {
    "memorial day": (5, 0, -1),
    "labor day": (9, 0, 1),
    "remembrance sunday": (11, 6, 2),
}
"""Month, weekday, and rank of the weekday in the month; -1 is the last."""
_THANKSGIVING = {"thanksgiving": 0, "black friday": 1}
"""Days after Thanksgiving."""
FEAST = "|".join(sorted((*_FIXED, *_EASTER, *_RANKED, *_THANKSGIVING), key=len, reverse=True))
"""A pattern for the name of a holiday."""


MOST_DAYS = 20
"""Maximum number of days to consider if a phrase may mean several."""


class Phrase:
    """Words from which parts are taken out, one after another. In `left`, bars replace these
    parts."""

    def __init__(self, words: str) -> None:
        self.left = words

    def take(self, pattern: str) -> re.Match[str] | None:
        """Take out the first match of a pattern. Only whole words are matched."""
        found = _compiled(pattern).search(self.left)
        if found:
            self.left = f"{self.left[: found.start()]} | {self.left[found.end() :]}"
        return found

    def segments(self, fillers: frozenset[str]) -> list[str]:
        """Return what is left between the bars, without `fillers` at the edges of each part."""
        parts = []
        for part in self.left.split("|"):
            words = part.split()
            while words and words[0] in fillers:
                words.pop(0)
            while words and words[-1] in fillers:
                words.pop()
            parts += [" ".join(words)] if words else []
        return parts


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})(?!\w)")


def plain(words: str) -> str:
    """Return the words in lower case and in one spelling: "a.m." as "am", "o'clock" as "oclock",
    no punctuation except for colons."""
    said = words.lower().replace("’", "'")
    said = re.sub(r"\b([ap])\.? ?m\b\.?", r"\1m", said)
    said = re.sub(r"\bo'? ?clock\b", "oclock", said)
    said = re.sub(r"(?<=\d)(?=[ap]m\b)", " ", said)
    said = re.sub(r"'s?\b|(?<=s)'", "", said)
    said = re.sub(r"(?<=\d)\.(?=\d)", ":", said)
    said = re.sub(r"[^\w:½ ]|:(?!\d)", " ", said)
    return " ".join(said.split())


def as_digits(said: str) -> str:
    """Write the numbers and ordinals of plain words as digits: "the third" becomes "the 3"."""
    return " ".join(with_digits(said.split(), lone=True))


def named_day(words: str, today: date) -> date | None:
    """Return the day that the words name, or None if they say anything else. The day may be in the
    past ("yesterday", "4 July 1976")."""
    phrase = Phrase(as_digits(plain(words)))
    found = take_past_day(phrase, today) or take_day(phrase, today, past=True)
    phrase.take("morning|afternoon|evening|night")
    return found[0] if found and not phrase.segments(_FILLERS) else None


_FILLERS = frozenset(["on", "in", "at", "the", "of", "for", "be", "from", "now", "then", "is"])


def take_past_day(phrase: Phrase, today: date) -> list[date]:
    """Take out words for a day in the past."""
    if phrase.take("(?:the )?day before yesterday"):
        return [today - timedelta(days=2)]
    if phrase.take("yesterday"):
        return [today - timedelta(days=1)]
    if found := phrase.take(rf"(?:on )?last ({DAYS})"):
        back = (today.weekday() - weekday_of(found[1]) - 1) % 7 + 1
        return [today - timedelta(days=back)]
    if found := phrase.take(r"(an?|\d+) (day|week|fortnight|month|year)s? ago"):
        return [away(today, -_count(found[1]), found[2])]
    return []


def take_day(phrase: Phrase, today: date, *, past: bool = False) -> list[date]:
    """Take out words for a day. Return the days that they may mean, from `today` on, soonest first.
    A weekday's name may mean today or the same day of next week, and "the 3rd" may be in any month.
    Return an empty list if there is no such day ("the 30th of February") or if no day is named. In
    the second case, `phrase` is unchanged.

    Args:
        past: whether a date with a year may be before `today`.
    """
    for pattern, days in _rules():
        if found := phrase.take(pattern):
            since = date.min if past and found.groupdict().get("year") else today
            try:
                return list(islice((day for day in days(found, today) if day >= since), MOST_DAYS))
            except (ValueError, OverflowError):  # no such day
                return []
    return []


def away(day: date, count: int, unit: str) -> date:
    """Return the day that is this many units after `day`. If its month is too short, return the
    last day of that month."""
    if unit in ("month", "year"):
        months = 12 * day.year + day.month - 1 + count * (12 if unit == "year" else 1)
        year, month = divmod(months, 12)
        return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
    return day + timedelta(days=count * {"day": 1, "week": 7, "fortnight": 14}[unit])


# -- what the words mean ------------------------------------------------------------------------

Days = Callable[[re.Match[str], date], Sequence[date] | Iterator[date]]


def _count(word: str | None) -> int:
    return int(word) if word and word.isdigit() else 2 if word and "couple" in word else 1


def weekday_of(word: str) -> int:
    """Return the number of a weekday, given its full or short name in lower case; Monday is 0."""
    names = [name.lower() for name in WEEKDAYS]
    return names.index(word) if word in names else SHORT_DAYS[word]


def _in_days(days: int) -> Days:
    return lambda _, today: [today + timedelta(days=days)]


def _coming(found: re.Match[str], today: date) -> list[date]:
    """Read "Friday", "this Friday", "next Friday" and "Friday next week". "Next Friday" is in the
    next calendar week."""
    wanted = weekday_of(found["weekday"])
    if (found["way"] or "") == "next" or found.groupdict().get("week"):
        return [today + timedelta(days=7 - today.weekday() + wanted)]
    day = today + timedelta(days=(wanted - today.weekday()) % 7)
    either = day == today and not found["way"]
    return [day, day + timedelta(days=7)] if either else [day]


def _weeks_on(found: re.Match[str], today: date) -> list[date]:
    """Read "a week on Friday", "two weeks today", "Friday week"."""
    base = found["base"]
    days = 14 if "fortnight" in found[0] else 7
    count = _count(found.groupdict().get("count"))
    if base in ("today", "tomorrow", "now"):
        start = today + timedelta(days=int(base == "tomorrow"))
    else:
        start = today + timedelta(days=(weekday_of(base) - today.weekday() - 1) % 7 + 1)
    return [start + timedelta(days=days * count)]


def _far(found: re.Match[str], today: date) -> list[date]:
    return [away(today, _count(found["count"]), found["unit"])]


def _dated(found: re.Match[str], today: date) -> Iterator[date]:
    """Read a day of a month. If a weekday is named too, the date must fall on it."""
    names = [name[:3].lower() for name in MONTHS]
    month, day = names.index(found["month"][:3]) + 1, int(found["day"])
    date(2000, month, day)  # raises ValueError if there is no such day
    named = found.groupdict().get("weekday")
    year = _year_of(found, today)
    years = [year] if year else range(today.year, today.year + 30)
    for each in years:
        try:
            at = date(each, month, day)
        except ValueError:  # 29 February
            continue
        if named is None or at.weekday() == weekday_of(named):
            yield at


def _year_of(found: re.Match[str], today: date) -> int | None:
    if found["near"]:
        return today.year + (found["near"] == "next")
    return int(found["year"].replace(" ", "")) if found["year"] else None


def _of_month(found: re.Match[str], today: date) -> Iterator[date]:
    """Read "the 3rd", "the 3rd of next month" or "the end of the month"."""
    fields = found.groupdict()
    day, way, named = int(fields.get("day") or 31), fields.get("way"), fields.get("weekday")
    if not 1 <= day <= 31:
        raise ValueError(day)
    first = today.replace(day=1)
    steps = [int(way == "next")] if way else range(2 if named else 60)
    for step in steps:
        month = away(first, step, "month")
        length = monthrange(month.year, month.month)[1]
        at = month.replace(day=min(day, length))
        fits = day <= length or "day" not in fields
        if fits and (named is None or at.weekday() == weekday_of(named)):
            yield at


def _feast(found: re.Match[str], today: date) -> list[date]:
    """Read a holiday with or without a year."""
    name = " ".join(found["feast"].split())
    year = _year_of(found, today)
    return [_holiday(name, each) for each in ([year] if year else (today.year, today.year + 1))]


def _holiday(name: str, year: int) -> date:
    if name in _FIXED:
        return date(year, *_FIXED[name])
    if name in _RANKED:
        return nth_weekday(year, *_RANKED[name])
    start, days = ("easter", _EASTER) if name in _EASTER else ("thanksgiving", _THANKSGIVING)
    return FEASTS[start](year).first + timedelta(days=days[name])


def _weekend(found: re.Match[str], today: date) -> list[date]:
    saturday = today + timedelta(days=(5 - today.weekday()) % 7)
    if found["way"] == "next":  # of next week
        return [today + timedelta(days=12 - today.weekday())]
    return [saturday]


@cache
def _rules() -> tuple[tuple[str, Days], ...]:
    """The patterns, in the order in which they are tried, each with the function that reads it."""
    name = rf"{DAYS}|{'|'.join(SHORT_DAYS)}"
    weekday = rf"(?:(?P<weekday>{name}) )?"
    on = rf"(?:on )?{weekday}(?:on )?(?:the )?"
    day, month = rf"(?P<day>{_NUMBER})", rf"(?P<month>{MONTH})"
    count = r"(?P<count>an?|the|\d+|a couple of|couple of)"
    far = rf"{count} (?P<unit>day|week|fortnight|month|year)s?"
    base = rf"(?P<base>{name}|today|tomorrow|now)"
    return (
        (rf"{on}{day}(?: day)?(?: of)? {month}{_YEAR}", _dated),
        (rf"{on}{month}(?: the)? {day}{_YEAR}", _dated),
        (rf"(?:on |at )?(?P<feast>{FEAST}){_YEAR}", _feast),
        (rf"(?:on )?(?P<way>)(?P<weekday>{name}) (?:of )?(?P<week>next week)", _coming),
        (rf"(?P<week>next week) (?:on )?(?P<way>)(?P<weekday>{name})", _coming),
        (rf"(?:in )?{far}(?: time)? from (?:now|today)", _far),
        (r"(?P<count>an?|\d+) (?P<unit>month|year)s? today", _far),
        (rf"(?:{count} )?(?:{_WEEK})s? (?:on |from |after |this )*{base}", _weeks_on),
        (rf"(?:on )?{base} (?:{_WEEK})", _weeks_on),
        (r"(?:the )?day after tomorrow|overmorrow", _in_days(2)),
        (r"tomorrow|tomorow|tommorow|tmrw", _in_days(1)),
        (r"today", _in_days(0)),
        (rf"in {far}(?: time)?(?! (?:from|after)\b)", _far),
        (rf"{on}{day} of (?:the|(?P<way>this|next)) month", _of_month),
        (rf"(?:on )?{weekday}(?:on )?the {day}(?! (?:{DAYS}|week|month|day|thing)s?\b)", _of_month),
        (r"(?:at |on )?the (?:end|last day) of (?:the|(?P<way>this|next)) month", _of_month),
        (
            rf"(?:on )?(?:the )?(?:(?P<way>this(?: coming)?|next|coming|following) )?"
            rf"(?P<weekday>{name})(?: coming)?",
            _coming,
        ),
        (r"(?:(?:at|on|over) )?(?:(?P<way>this|next|the)(?: coming)? )weekend", _weekend),
    )
