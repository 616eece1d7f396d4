"""Find the date ranges that words refer to, e.g. "last summer" or "two weeks before 11 August".

English only. Vague times ("soon", "on Mondays") and names ("April") refer to no date range.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, cached_property
from string import ascii_lowercase, ascii_uppercase

from assistant.language.absolute_dates import past_tense
from assistant.language.calendar import (
    FEASTS,
    MONTHS,
    PART_OF_DAY,
    SEASONS,
    WEEKDAYS,
    Span,
    months,
    nearest,
    one_day,
    part_of,
    week_of,
    years,
)
from assistant.language.numbers import count_words, number_of, ordinal_words

BESIDE = 30
"""Number of days covered by "before Christmas" or "after Christmas"."""
FEWEST = 3
"""Minimum number of other words that a question needs to make sense without its time
expressions.
"""
_ANY_DAY = date(2000, 1, 1)
"""The date used for today when only the wording of a text matters.

It is in a leap year, so that 29 February is recognised.
"""


@dataclass(frozen=True, slots=True)
class TimeExpressions:
    """The date ranges that a text refers to (`spans`), and the text without the time expressions
    (`rest`).
    """

    spans: tuple[Span, ...]
    rest: str


@dataclass(frozen=True)
class Seen:
    """The context in which a text is interpreted: the current date and the text itself."""

    today: date
    text: str

    @cached_property
    def past(self) -> bool:
        """Whether the text is about the past.

        If so, "in May" means last May. Otherwise it may also mean next May.
        """
        return _past().search(self.text) is not None

    def nearest(self, yearly: Callable[[int], Span], way: str) -> list[Span]:
        if way == "next":
            return nearest(yearly, self.today, ahead=True)[-1:]
        found = nearest(yearly, self.today, ahead=not (self.past or way == "last"))
        if way == "last" and found[0].last >= self.today:  # it is not over yet
            return [yearly(found[0].first.year - 1)]
        return found


def find_time_expressions(text: str, today: date) -> TimeExpressions:
    """Find the date ranges that `text` refers to if it was said on the day `today`."""
    lower = text.lower()
    if not any(each in lower for each in _PARTS_OF_ALL):
        return TimeExpressions((), text)
    words = set(_WORD.findall(lower))
    seen = Seen(today, lower)
    spans: list[Span] = []
    for keys, pattern, how in _rules():
        if not keys.isdisjoint(words):
            found, text = _taken(text, seen, pattern, how)
            spans += found
    return TimeExpressions(tuple(dict.fromkeys(spans)), " ".join(text.split()))


def without_times(text: str) -> str:
    """Remove the time expressions from `text`, unless hardly any other words would be left."""
    rest = find_time_expressions(text, _ANY_DAY).rest
    return rest if len(_WORD.findall(rest.lower())) >= FEWEST else text


def _taken(text: str, seen: "Seen", pattern: re.Pattern[str], how: "How") -> tuple[list[Span], str]:
    """Return the date ranges that a pattern finds in a text, and the text without these matches."""
    spans: list[Span] = []
    rest, end = [], 0
    for match in pattern.finditer(_lower(text)):
        try:
            found = how(seen, match)
        except (ValueError, OverflowError):  # no such day, such as 30 February
            continue
        if found:
            spans += found
            rest.append(text[end : match.start()])
            end = match.end()
    return spans, " ".join([*rest, text[end:]])


def _lower(text: str) -> str:
    """Convert a text to lower case without changing its length.

    Matching would take thirty times as long with patterns that ignore case.
    """
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_ASCII)


# -- what the words mean ------------------------------------------------------------------------

How = Callable[[Seen, re.Match[str]], Sequence[Span]]


def _of(match: re.Match[str], group: str) -> str:
    return (match.groupdict().get(group) or "").strip().lower()


def _number(word: str) -> int:
    """Return the value of a number word. Raises ValueError if it is not a number."""
    for some, count in (("couple", 2), ("few", 3), ("several", 4)):
        if some in word:
            return count
    if word in ("", "a", "an", "the"):
        return 1
    number = number_of(word)
    if number is None:
        raise ValueError(word)
    return number


def _month_number(word: str) -> int:
    return [name[:3].lower() for name in MONTHS].index(word[:3]) + 1


def _on_day(days: int) -> How:
    return lambda seen, _: [one_day(seen.today + timedelta(days=days))]


def _the_date(seen: Seen, match: re.Match[str]) -> list[Span]:
    month, day = _month_number(_of(match, "month")), _number(_of(match, "day"))
    if match["month"] in ("may", "march") and match["day"].isalpha() and " of " not in match[0]:
        return []  # "the second may be late"
    if match["year"]:
        return [one_day(date(int(match["year"]), month, day))]
    return seen.nearest(lambda year: one_day(date(year, month, day)), "")


def _from_date(seen: Seen, match: re.Match[str]) -> list[Span]:
    """Interpret e.g. "two weeks before 11 August" or "the weekend before May 3"."""
    sign = -1 if _of(match, "side") == "before" else 1
    steps, unit = sign * _number(_of(match, "count")), _of(match, "unit")
    if unit == "week" and abs(steps) == 1:  # any day of that week
        return [
            Span(*sorted((day.first, day.first + timedelta(days=7 * steps))))
            for day in _the_date(seen, match)
        ]
    return [_away(day.first, steps, unit) for day in _the_date(seen, match)]


def _far(seen: Seen, match: re.Match[str]) -> list[Span]:
    """Interpret e.g. "three weeks ago" or "in two months"."""
    sign = -1 if _of(match, "ago") else 1
    return [_away(seen.today, sign * _number(_of(match, "count")), _of(match, "unit"))]


def _away(day: date, count: int, unit: str) -> Span:
    """Return the range this far away from `day`. Larger units give longer, less exact ranges."""
    if unit == "year":
        return years(day.year + count)
    if unit == "month":
        month = months(day.year, day.month + count)
        return Span(month.first - timedelta(days=5), month.last + timedelta(days=5))
    if unit == "weekend":
        saturday = day + timedelta(days=(5 - day.weekday()) % 7)
        # On a weekend, "before" means the previous weekend.
        return Span(saturday, saturday + timedelta(days=1)).moved(7 * (count - (count > 0)))
    if unit in ("day", "night"):
        return one_day(day + timedelta(days=count), spare=int(abs(count) > 6))
    return one_day(day + timedelta(days=7 * count * (1 + (unit == "fortnight"))), spare=3)


def _weekday(seen: Seen, match: re.Match[str]) -> list[Span]:
    """Interpret e.g. "last Monday". If it may mean either of two weeks, both dates are returned."""
    way = _of(match, "way")
    wanted = [name.lower() for name in WEEKDAYS].index(_of(match, "weekday"))
    today = seen.today.weekday()
    back, ahead = -((today - wanted - 1) % 7 + 1), (wanted - today - 1) % 7 + 1
    if _of(match, "twice"):
        days = [back - 7]
    elif way in ("last", "past"):
        days = [back, back - 7] if wanted < today else [back]
    elif way == "next":
        days = [ahead, ahead + 7] if wanted > today else [ahead]
    else:
        days = [back] if seen.past else [back, ahead]
    return [one_day(seen.today + timedelta(days=each)) for each in days]


def _period(seen: Seen, match: re.Match[str]) -> list[Span]:
    """Interpret e.g. "last week", "this month" or "the weekend before last"."""
    unit, today = _of(match, "unit"), seen.today
    step = {"this": 0, "next": 1}.get(_of(match, "way"), -1) * (2 if _of(match, "twice") else 1)
    if unit == "year":
        return [years(today.year + step)]
    if unit == "month":
        return [months(today.year, today.month + step)]
    week = week_of(today).moved(7 * step)
    return [week] if unit == "week" else [Span(week.last - timedelta(days=1), week.last)]


def _stretch(seen: Seen, match: re.Match[str]) -> list[Span]:
    """Interpret e.g. "the last three weeks" or "these past few days"."""
    each = {"week": 7, "weekend": 7, "fortnight": 14, "month": 31, "year": 366}
    days = _number(_of(match, "count")) * each.get(_of(match, "unit"), 1)
    return [Span(seen.today - timedelta(days=days), seen.today)]


def _in_month(seen: Seen, match: re.Match[str]) -> list[Span]:
    """Interpret a month if other words show that it is one: "May" may also be a verb or a name."""
    month, way = _month_number(_of(match, "month")), _of(match, "way")
    if not any(_of(match, each) for each in ("within", "way", "part", "year")):
        return []
    if match["year"]:
        spans = [months(int(match["year"]), month)]
    else:
        spans = seen.nearest(lambda year: months(year, month), way)
    part = next((p for word, p in _PARTS.items() if word in _of(match, "part")), None)
    return [part_of(each, part) for each in spans] if part else spans


_PARTS = {
    **dict.fromkeys(("begin", "start", "early"), "start"),
    "mid": "middle",
    **dict.fromkeys(("end", "late"), "end"),
}


def _in_year(_: Seen, match: re.Match[str]) -> list[Span]:
    return [years(int(match["year"]))]


def _season(seen: Seen, match: re.Match[str]) -> list[Span]:
    month, way = SEASONS[_of(match, "season")], _of(match, "way")
    if match["year"]:
        return [months(int(match["year"]), month, 3)]
    return seen.nearest(lambda year: months(year, month, 3), way)


def _feast(seen: Seen, match: re.Match[str]) -> list[Span]:
    yearly, way = FEASTS[_of(match, "feast")], _of(match, "way")
    spans = [yearly(int(match["year"]))] if match["year"] else seen.nearest(yearly, way)
    return [_beside(each, _of(match, "side"), seen.today) for each in spans]


def _beside(span: Span, side: str, today: date) -> Span:
    if side == "before":
        return Span(span.first - timedelta(days=BESIDE), span.first - timedelta(days=1))
    if side == "after":
        return Span(span.last + timedelta(days=1), span.last + timedelta(days=BESIDE))
    return Span(span.last, max(span.last, today)) if side == "since" else span


# -- the words ----------------------------------------------------------------------------------

_ASCII = str.maketrans(ascii_uppercase, ascii_lowercase)
_MONTHS = tuple(name.lower() for name in MONTHS)
_SHORT = ("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sept", "sep", "oct", "nov", "dec")
_WEEKDAYS = tuple(name.lower() for name in WEEKDAYS)
_UNITS = ("day", "night", "weekend", "week", "fortnight", "month", "year")
_PLURALS = tuple(f"{each}s" for each in _UNITS)
_MONTH, _ANY_MONTH, _WEEKDAY = (
    "|".join(each) for each in (_MONTHS, (*_MONTHS, *_SHORT), _WEEKDAYS)
)
_UNIT = rf"(?P<unit>{'|'.join(_UNITS)})s?"
_YEAR = r"(?:,? (?:of )?(?P<year>(?:19|20)\d\d)\b)?"
_ON = rf"(?:\b(?:on|of|for|from|by|around|about|since) )?(?:\b(?:{_WEEKDAY}),? )?(?:\bthe )?"
_IN = r"\b(?:back )?(?:in|during|since|by|over|through|at|for|around|from|on)\b"
_TWICE = r"(?P<twice> before last)?"
_PART = (
    r"(?P<part>(?:the )?(?:very )?(?:beginning|start|middle|end) of |early[ -]|mid(?:dle)?[ -]|"
    r"late[ -])?"
)
_NAMED = rf"(?P<feast>{'|'.join(FEASTS)})(?:['’]?s)?(?: (?:day|eve))?\b{_YEAR}"
_PARTS_OF_ALL = (
    *("day", "night", "week", "month", "year", "ago", "tomorrow", "morning", "afternoon"),
    *("evening", "christmas", "easter", "halloween", "valentine", "thanksgiving", "19", "20"),
    *SEASONS,
    *(f" {each}" for each in _SHORT),
    *(" may", "january", "february", "march", "april", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
"""Each time expression contains at least one of these strings.

Looking for them takes two microseconds, and rules out most texts.
"""
_WORD = re.compile(r"[a-z]+|\d+")


@cache
def _past() -> re.Pattern[str]:
    return re.compile(past_tense().pattern)  # for lower case only; takes a thirtieth of the time


Rule = tuple[frozenset[str], re.Pattern[str], How]


def _rule(pattern: str, how: How, *keys: str) -> Rule:
    """Build a rule. `keys`: a text must contain one of these words for `pattern` to be tried."""
    return frozenset(keys), re.compile(pattern), how


def _date_rules(count: str) -> list[Rule]:
    day = rf"(?P<day>{ordinal_words()}|[0-3]?\d(?:st|nd|rd|th)?)"
    dates = (
        rf"{_ON}\b{day}(?: of)? (?P<month>{_ANY_MONTH})\b{_YEAR}",
        rf"{_ON}\b(?P<month>{_ANY_MONTH})\.? (?:the )?{day}\b(?!:| ?[ap]m\b){_YEAR}",
    )
    before = rf"\b(?:about )?(?:the |last )?(?:{count} )?{_UNIT} (?P<side>before|after) (?:last )?"
    keys = (*_MONTHS, *_SHORT)
    return [
        *(_rule(before + each, _from_date, *keys) for each in dates),
        *(_rule(each, _the_date, *keys) for each in dates),
    ]


@cache
def _rules() -> tuple[Rule, ...]:
    count = rf"(?P<count>an?|{count_words()}|\d{{1,3}}|(?:a )?(?:couple(?: of)?|few)|several)"
    return (
        *_date_rules(count),
        _rule(r"\b(?:the )?day before yesterday\b", _on_day(-2), "yesterday"),
        _rule(r"\b(?:the )?day after tomorrow\b", _on_day(2), "tomorrow"),
        _rule(rf"\byesterday(?:['’]s)?{PART_OF_DAY}\b", _on_day(-1), "yesterday"),
        _rule(r"\blast night\b", _on_day(-1), "last"),
        _rule(rf"\btomorrow(?:['’]s)?{PART_OF_DAY}\b", _on_day(1), "tomorrow"),
        _rule(r"\btoday(?:['’]s)?\b|\btonight\b", _on_day(0), "today", "tonight"),
        _rule(r"\bthis (?:morning|afternoon|evening)\b", _on_day(0), "this"),
        _rule(rf"\b(?:about |around |some )?{count} {_UNIT} (?P<ago>ago)\b", _far, "ago"),
        _rule(rf"\bin {count} {_UNIT}\b(?! of\b)", _far, *_UNITS, *_PLURALS),
        _rule(
            rf"(?:{_IN} )?\b(?:the|these) (?:last|past) {count} {_UNIT}\b", _stretch, "last", "past"
        ),
        _rule(
            rf"(?:\bon )?\b(?:(?P<way>last|past|next|this)(?: coming)?|on|the) "
            rf"(?P<weekday>{_WEEKDAY}){PART_OF_DAY}{_TWICE}\b",
            _weekday,
            *_WEEKDAYS,
        ),
        _rule(
            rf"(?:{_IN} )?\bthe (?P<unit>week|month|year|weekend)(?P<twice> before last)\b",
            _period,
            "last",
        ),
        _rule(
            rf"(?:{_IN} )?\b(?P<way>last|this|next) (?P<unit>weekend|week|month|year)\b",
            _period,
            *("last", "this", "next"),
        ),
        _rule(
            rf"(?:(?P<within>{_IN}) )?\b{_PART}(?:(?P<way>last|this|next) )?"
            rf"\b(?P<month>{_MONTH})\b{_YEAR}(?!['’])",
            _in_month,
            *_MONTHS,
        ),
        _rule(
            rf"(?:{_IN} )?\b(?P<way>last|this|next|the) (?P<season>{'|'.join(SEASONS)})\b{_YEAR}",
            _season,
            *SEASONS,
        ),
        _rule(
            rf"\b(?:(?:just |right )?(?P<side>before|after|since)|at|over|around|on|for|during) "
            rf"(?:(?P<way>last|next|this) )?{_NAMED}",
            _feast,
            *(first for each in FEASTS for first in (each.split()[0], f"{each.split()[0]}s")),
        ),
        _rule(rf"\b(?P<way>last|next|this) {_NAMED}", _feast, "last", "next", "this"),
        _rule(rf"{_IN} (?P<year>(?:19|20)\d\d)\b", _in_year, *map(str, range(1900, 2100))),
    )
