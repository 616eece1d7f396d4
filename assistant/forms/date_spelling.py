"""Converts the many ways of saying a date to one spelling: "ninth of the ninth seventy-nine",
"9/9/79" and "September the 9th, '79" all become a day, a month's name and a four-digit year.

English only.
"""

import re
from datetime import date

from assistant.language.calendar import MONTHS
from assistant.language.days import DAYS, FEAST, MONTH, plain
from assistant.language.numbers import ordinals, with_digits

YEAR = r"(?P<year>(?:19|20)\d\d)"
"""A pattern for a year in this spelling."""
_COUNTS = {"a few": "3", "few": "3", "several": "4", "couple of": "2", "couple": "2"}
_NUMERIC = re.compile(
    r"(?<![\d/.-])(?P<a>\d{1,4})[-/.](?P<b>\d{1,2})[-/.](?P<c>\d{4}|\d{2})(?![\d/-]|\.\d)"
)
_SHORTENED = re.compile(r"(?<=\w )['’](\d\d)\b(?!['’])")
"""A year without its century: "May '26"."""
_SHORT = r"(?:oh|o|0) \d|\d\d"
_LISTED = re.compile(rf"(\d\d?) (\d\d?) ((?:19|20) ?(?:{_SHORT})|{_SHORT})")
_DAY = r"[0-3]?\d(?:th)?"
_DAY_AND_MONTH = rf"(?:(?:the )?{_DAY} (?:of )?(?:{MONTH})|(?:{MONTH}) (?:the )?{_DAY})"
_LATE = r"3[2-9]|[4-9]\d"
"""A number that can't be a day of a month."""
_AHEAD = 20
"""A two-digit year is read as a year in this century if that is at most this many years ahead;
otherwise, as one in the last century."""
_PARTS = (
    r"morning|afternoon|arvo|evening|(?<!bonfire )night|(?:breakfast|lunch|dinner|tea) ?time|noon"
)
_MONTH_BY_NUMBER = re.compile(
    rf"(\d\d?)th (?:of (?:the )?|the )(1[0-2]|[1-9])th\b(?! (?:{DAYS}|week|month|day))"
)
_RANK = re.compile(
    rf"(?P<before>\b(?:the|on|{DAYS}|{MONTH}) )?\b(?P<day>\d+)th\b"
    rf"(?! (?:{DAYS}|weekend|week|half))"
    rf"(?! (?:day|month|year|time)\b(?! (?:of (?:{MONTH})|before|after)\b))"
    rf"(?P<after> (?:(?:of )?(?:{MONTH})|of \w+ month)\b)?"
)


def in_one_spelling(words: str, today: date, *, past: bool, listed: bool) -> str:
    """Return the words in lower case, with numbers in digits, without hesitations or times of day.
    An ordinal number that isn't a day of a month always ends in "th": "2th tuesday".

    Args:
        past: whether a two-digit year can't be later than the current year.
        listed: whether three numbers in a row are read as day, month and year.

    Raises:
        ValueError: a date in digits doesn't exist.
    """
    said = _NUMERIC.sub(lambda found: _numeric(found, today, past=past), words)
    said = _SHORTENED.sub(lambda found: str(_year(found[1], today, past=past)), said)
    said = re.sub(r"\b(?:then|um|uh|er|like|say)\b", " ", plain(said))
    said = re.sub(rf"\bthis (?:{_PARTS})\b|\btonight\b", "today", said)
    said = re.sub(r"\blast night\b", "yesterday", said)
    said = re.sub(rf"\b(?:in the )?(?:{_PARTS})\b", " ", said)
    for vague, count in _COUNTS.items():
        said = re.sub(rf"\b(?:a )?{vague}\b(?= (?:day|week|fortnight|month|year))", count, said)
    said = _with_digits(said)
    said = re.sub(r"\bat \d\d?(?::\d\d)?(?: oclock| [ap]m)? (?=today|yesterday)", "", said)
    if listed and (found := _LISTED.fullmatch(said)):
        year = _year(found[3], today, past=past)
        return _day_first(int(found[1]), int(found[2]), year)
    said = _MONTH_BY_NUMBER.sub(lambda found: f"{found[1]}th of {_month(int(found[2]))}", said)
    return _RANK.sub(_day_of_month, _with_years(said, today, past=past))


# -- internals ----------------------------------------------------------------------------------


def _day_of_month(found: re.Match[str]) -> str:
    """Write "3th" as "the 3". On their own, "first" and "second" are not days, because they have
    other uses ("first of all", "a second")."""
    before, after, day = found["before"] or "", found["after"] or "", found["day"]
    if not before and not after and int(day) < 3:
        return found[0]
    return f"{before.removesuffix('the ')}the {day}{after}"


def _with_digits(said: str) -> str:
    """Write numbers as digits, and mark ordinals with "th": "twenty third" becomes "23th"."""
    words: list[str] = []
    for word in said.split():
        rank = re.fullmatch(r"(\d+)(?:st|nd|rd|th)", word)
        words += [rank[1] if rank else word] + ["th"] * (rank is not None or word in ordinals())
    return re.sub(r"(?<=\d) th\b", "th", " ".join(with_digits(words, lone=True)))


def _with_years(said: str, today: date, *, past: bool) -> str:
    """Write every year with four digits, after its month."""

    def full(found: re.Match[str]) -> str:
        return f"{found['date']} {_year(found['short'], today, past=past)}"

    said = re.sub(r"\b(19|20) (?:oh|o|0) (\d)\b", r"\g<1>0\2", said)
    said = re.sub(r"\b(19(?= \d)|20(?= [0-4])) (\d\d)\b", r"\1\2", said)
    said = re.sub(
        rf"\A(?P<short>(?:19|20)\d\d|{_LATE}) (?P<date>{_DAY_AND_MONTH})\Z",
        full,
        said,
    )
    short = rf"(?P<short>{_SHORT})\Z"
    said = re.sub(rf"\b(?P<date>{_DAY_AND_MONTH}|{FEAST})(?: of)? {short}", full, said)
    said = re.sub(rf"\b(?P<date>{MONTH}) of {short}", full, said)
    said = re.sub(rf"\b(?P<date>{MONTH}) (?P<short>{_LATE})\Z", full, said)
    near = {"last": today.year - 1, "this": today.year, "next": today.year + 1}
    return re.sub(
        rf"\b({_DAY_AND_MONTH}|{FEAST}|{MONTH}) (?:of )?(last|this|next) year\b",
        lambda found: f"{found[1]} {near[found[2]]}",
        said,
    )


def _year(said: str, today: date, *, past: bool) -> int:
    """Return the full year. The words may be a shortened year: "oh 4", "79"."""
    digits = re.sub(r"\D", "", re.sub(r"\bo\b|\boh\b", "0", said))
    year = int(digits)
    if len(digits) == 4:
        return year
    latest = today.year + (0 if past else _AHEAD)
    return 2000 + year if 2000 + year <= latest else 1900 + year


def _numeric(found: re.Match[str], today: date, *, past: bool) -> str:
    """Read "1980-05-03" and "3/5/1980"."""
    first, second = int(found["a"]), int(found["b"])
    if len(found["a"]) == 4:
        return f"{int(found['c'])} {_month(second)} {first}"
    return _day_first(first, second, _year(found["c"], today, past=past))


def _day_first(first: int, second: int, year: int) -> str:
    """Return a date from its first two numbers: the day comes first, unless only the other order is
    possible."""
    day, month = (first, second) if second <= 12 else (second, first)
    return f"{date(year, month, day).day} {_month(month)} {year}"


def _month(number: int) -> str:
    return MONTHS[date(2000, number, 1).month - 1].lower()
