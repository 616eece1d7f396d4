"""Replaces relative days with dates, so that a statement stays true: "tomorrow" becomes "on Friday
10 April 2026". Supports English only."""

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache, partial
from typing import NamedTuple

from assistant.language.calendar import MONTHS, PART_OF_DAY, WEEKDAYS
from assistant.language.days import weekday_of
from assistant.language.numbers import count_words, number_of, one_of, ordinal_words
from assistant.language.word_lists import language_data

_WEEKDAY = rf"(?P<weekday>{'|'.join(WEEKDAYS)})"
_UNIT = r"(?P<unit>day|week|fortnight|month|year)s?"
_HABIT = re.compile(
    rf"\b(?:every|each|an?|most|on an?) {_WEEKDAY}\b|\b{_WEEKDAY.replace('weekday', 'many')}s\b",
    re.IGNORECASE,
)
_MANY = "\0"
"""Marks a weekday that means every such day ("on Mondays"), so that it is not replaced."""
_FIRST_DATE = 0xE000
"""Placeholder for the first date that was put in. The second date gets the next character, and so
on. Placeholders are private-use characters of Unicode; they keep later rules from changing these
dates."""
_TAKEN = re.compile(f"[\ue000-\uf8ff{_MANY}]")
_UNCLEAR = re.compile(
    r"\b(?:days?|weeks?|fortnight|months?) (?:today|tomorrow|yesterday|from|last|next|on)\b"
    rf"|\bthat (?:last |next )?{_WEEKDAY.replace('weekday', 'other')}\b",
    re.IGNORECASE,
)
"""Matches days that no rule reads: "a week on Monday", "two weeks tomorrow", "that Saturday"."""
_NOT_AFTER = frozenset({
    "the", "a", "an", "every", "each", "first", "second", "third", "fourth", "other",
    "following", "black", "good", "ash", "easter", "since", "until", "till", "to", "by", "for",
    "from", "of", "than", "before", "after", "about", "around", "between",
})  # fmt: skip
"""After one of these words, a weekday does not mean a single day, or can't be replaced by "on" and
a date."""
_EDGE = re.compile(r"\W*$|[,;:.!?)]")
"""Matches the end of a clause. A weekday that is not at the end of one may be part of a name."""
_EARLIER_CLAUSES = re.compile(
    r".*(?:[;:.!?]|,(?=\s+(?:I|we|you|he|she|it|they)\b)|\b(?:and|but|so|because|then)\b)",
    re.DOTALL | re.IGNORECASE,
)


class _Said(NamedTuple):
    """When a text was said, and how its dates are written."""

    day: date
    write: Callable[[date], str]


How = Callable[[_Said, re.Match[str]], str]


def written(day: date) -> str:
    """Return a date with its weekday and year."""
    return f"{WEEKDAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]} {day.year}"


def with_absolute_dates(
    text: str, said: date, write: Callable[[date], str] = written
) -> str | None:
    """Replace relative days in `text` with dates. Return None if the result still contains words
    whose meaning depends on the day.

    Args:
        said: the local date on which the text was said.
        write: writes a date.

    >>> with_absolute_dates("My exam is tomorrow", date(2026, 4, 9))
    'My exam is on Friday 10 April 2026'
    """
    if _UNCLEAR.search(text) or _TAKEN.search(text):
        return None
    text = _HABIT.sub(lambda match: re.sub(r"(?=\w+$)", _MANY, match.group()), text)
    dates: list[str] = []

    def replaced(how: How, match: re.Match[str]) -> str:
        made = match.group()
        if _word_before(match) not in _NOT_AFTER and match.string[match.end() :][:2] != "'s":
            made = how(_Said(said, write), match)
        if made == match.group():
            return made
        dates.append(made)
        return chr(_FIRST_DATE + len(dates) - 1)

    for pattern, how in _rules():
        text = pattern.sub(partial(replaced, how), text)
    if _left().search(text):
        return None
    for number, made in enumerate(dates):
        text = text.replace(chr(_FIRST_DATE + number), made)
    return text.replace(_MANY, "")


@cache
def past_tense() -> re.Pattern[str]:
    """Return a pattern that matches verbs in the past tense."""
    verbs = one_of(language_data("en")["verbs"]["past"].split())
    return re.compile(
        rf"\b(?:{verbs}|(?!need|feed|bleed|speed|breed)[a-z]{{2,}}ed)\b", re.IGNORECASE
    )


# -- internals ----------------------------------------------------------------------------------


def _on(days: int, said: _Said, _: re.Match[str]) -> str:
    return f"on {said.write(said.day + timedelta(days=days))}"


def _far(sign: int, said: _Said, match: re.Match[str]) -> str:
    """Convert a distance from the current day, such as "in three weeks" or "two days ago". In a
    clause in the past tense, "in three weeks" says how long something took, and is not replaced."""
    if sign > 0 and _is_past(match):
        return match.group()
    number = number_of(match["count"])
    count = sign * (1 if number is None else number)
    unit = match["unit"].lower()
    if unit == "year":
        return f"in {said.day.year + count}"
    if unit == "month":
        return f"in {_month(said.day, count)}"
    days = {"day": 1, "week": 7, "fortnight": 14}[unit]
    return f"on {said.write(said.day + timedelta(days=days * count))}"


def _month(said: date, count: int) -> str:
    year, month = divmod(said.year * 12 + said.month - 1 + count, 12)
    return f"{MONTHS[month]} {year}"


def _weekday(said: _Said, match: re.Match[str]) -> str:
    """Convert a weekday to the date of the last or the next such day. A plain name of today's
    weekday, without "last", "this" or "next", is ambiguous and is not replaced. Neither is a
    weekday that may be part of a name ("Sunday brunch")."""
    way = (match["way"] or "").lower()
    alone = not way and not match.group().lower().startswith("on ")
    if alone and not _EDGE.match(match.string, match.end()):
        return match.group()
    past = way == "last" or (way != "next" and _is_past(match))
    days = (weekday_of(match["weekday"].lower()) - said.day.weekday()) % 7
    if not days and not way:
        return match.group()
    days = days - 7 if past and (days or way == "last") else days or 7 * (way == "next")
    return f"on {said.write(said.day + timedelta(days=days))}"


def _span(said: _Said, match: re.Match[str]) -> str:
    step = {"last": -1, "this": 0, "next": 1}[match["way"].lower()]
    unit = match["unit"].lower()
    if unit == "year":
        return f"in {said.day.year + step}"
    if unit == "month":
        return f"in {_month(said.day, step)}"
    monday = said.day + timedelta(days=7 * step - said.day.weekday())
    return f"in the week of {said.write(monday)}"


def _of_month(said: _Said, match: re.Match[str]) -> str:
    """Convert e.g. "on the third" to the next such date. In a text with a past tense, the words may
    just as well mean the last such date ("they've moved my test on the third"), so they are not
    replaced."""
    if past_tense().search(match.string) is not None:
        return match.group()
    number = number_of(match["nth"]) or 0
    for step in range(3):
        year, month = divmod(said.day.year * 12 + said.day.month - 1 + step, 12)
        try:
            day = date(year, month + 1, number)
        except ValueError:
            continue
        if day >= said.day:
            return f"on {said.write(day)}"
    return match.group()


def _word_before(match: re.Match[str]) -> str:
    words = match.string[: match.start()].split()
    return words[-1].lower() if words else ""


def _is_past(match: re.Match[str]) -> bool:
    """Return whether the clause around a match contains a past tense."""
    earlier = _EARLIER_CLAUSES.match(match.string, 0, match.start())
    begin = earlier.end() if earlier else 0
    later = _EDGE.search(match.string, match.end())
    end = later.start() if later else len(match.string)
    clause = re.sub(r"\bgot to\b", "", match.string[begin:end], flags=re.IGNORECASE)
    return past_tense().search(clause) is not None


def _rule(pattern: str, how: How) -> tuple[re.Pattern[str], How]:
    return re.compile(pattern, re.IGNORECASE), how


def _count() -> str:
    return rf"(?P<count>an?|{count_words()}|\d{{1,3}})"


@cache
def _left() -> re.Pattern[str]:
    """Return a pattern that matches words whose meaning depends on the day on which they are
    said."""
    return re.compile(
        r"\b(?:today|tonight|tomorrow|yesterday|this (?:morning|afternoon|evening|week|month|year"
        r"|time|coming|spring|summer|autumn|winter|weekend)|(?:next|last) (?!name\b|time\b)\w+|ago"
        r"|the other (?:day|week|night)|just now|"
        rf"in (?:an? )?(?:{_count()}|few) (?:minute|hour|moment|day|week|month)s?"
        rf"|later|soon|at the weekend|{_WEEKDAY}(?! \d|s\b)(?:week)?)\b",
        re.IGNORECASE,
    )


@cache
def _rules() -> tuple[tuple[re.Pattern[str], How], ...]:
    count, nth = _count(), rf"{ordinal_words()}|\d{{1,2}}(?:st|nd|rd|th)"
    this = r"\btoday(?!'s)\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b"
    return (
        _rule(r"\bthe day after tomorrow\b", partial(_on, 2)),
        _rule(r"\bthe day before yesterday\b", partial(_on, -2)),
        _rule(rf"\b(?:on )?tomorrow(?!'s){PART_OF_DAY}\b", partial(_on, 1)),
        _rule(rf"\byesterday(?!'s){PART_OF_DAY}\b|\blast night\b", partial(_on, -1)),
        _rule(rf"\bin {count} {_UNIT}(?:'? time)?(?: now)?\b", partial(_far, 1)),
        _rule(rf"\b{count} {_UNIT} ago(?: now| today)?\b", partial(_far, -1)),
        _rule(this, partial(_on, 0)),
        _rule(
            r"\b(?:on )?(?:(?P<way>last|next|this)(?: coming)? )?"
            rf"{_WEEKDAY}(?!s\b| week\b| \d){PART_OF_DAY}\b",
            _weekday,
        ),
        _rule(r"\b(?P<way>last|this|next) (?P<unit>week|month|year)\b", _span),
        _rule(
            rf"\bon the (?P<nth>{nth})(?! of\b| floor\b| day\b| \w+day\b"
            r"| (?:morning|afternoon|evening|night|week|weekend|try|attempt|lap|page|date)\b)"
            r"(?=\W|$)",
            _of_month,
        ),
    )
