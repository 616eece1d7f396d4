"""Finds the values of a slot's type among other words. English only."""

import re
from collections.abc import Iterator
from datetime import date
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from assistant.forms.definition import Slot, SlotType
from assistant.forms.values import HOURS, UNKNOWN, Value, read
from assistant.forms.wording import names_rank
from assistant.language.calendar import MONTHS, WEEKDAYS
from assistant.language.days import DAYS, FEAST
from assistant.language.measures import units
from assistant.language.numbers import numbers, one_of

_WORD = re.compile(r"[^\s,;:!?…]*[^\s,;:!?….]|:\d\d")
_TRIMMED = 3
"""Fewer than `2 * _TRIMMED` words are cut from a run."""
_DATE_JOINS = (
    "the of on in since last next this a an couple few and before after from about around early"
    " late mid half"
)
_BASE = re.compile(
    rf"\b(?:the (?:{DAYS}|weekend)|(?:day|week|fortnight|month|year)s?)\Z", re.IGNORECASE
)
_BESIDE = re.compile(r"\s+(?:before|after|later|earlier|following|ahead)\b", re.IGNORECASE)
"""Matches words that turn a day of `_BASE` into another: "the day before the concert"."""
_RANKED = re.compile(r"\s+(?:day|week|month|year|time|half|one|option|birthday)s?\b", re.IGNORECASE)
"""Matches words that show that the ordinal before them isn't a day of a month: "the second year of
school"."""
_CLOCK = re.compile(r"\s+(?:past|o'?clock|[ap]\.?m)\b", re.IGNORECASE)
"""Matches words that show that the number before them is a time, or part of one."""
_NOT = re.compile(r"\b(?:not|except)(?: (?:on|at|the|this|next|in|for))*\s*\Z", re.IGNORECASE)
"""Matches the words before a value that is not meant."""
_OR = re.compile(r"\s*,?\s*\b(?:or|to)(?: (?:maybe|perhaps|even|on|at|the|a))*\s*", re.IGNORECASE)
"""Matches the words between two values if only one of them is meant, or neither."""
_TIME_JOINS = "half quarter past to at in the a and o'clock oclock before after around about"
_NUMBER_JOINS = "and a an half quarter point out of minus about"


def values_in(slot: Slot, text: str, today: date) -> list[Value]:
    """Return the values for a number, date or time slot in a text, in order. Return none if they
    are alternatives or a range ("six or seven", "Monday to Friday")."""
    if slot.type not in (SlotType.DATE, SlotType.TIME, SlotType.NUMBER):
        return []
    if slot.type is SlotType.TIME and HOURS.search(text):
        return []
    found = list(_read_runs(slot, text, today))
    if any(_OR.fullmatch(text, one.end, two.start) for one, two in pairwise(found)):
        return []
    return [each.value for each in found if not _NOT.search(text[: each.start])]


class _Found(NamedTuple):
    """A value, and the range [start, end) of its words in the text."""

    value: Value
    start: int
    end: int


def _read_runs(slot: Slot, text: str, today: date) -> Iterator[_Found]:
    vocabulary, core = _vocabulary(slot.type)
    run: list[re.Match[str]] = []
    for word in [*_WORD.finditer(text), None]:
        gap = word is not None and run and re.search(r"[,;!?…]", text[run[-1].end() : word.start()])
        if word is not None and not gap and vocabulary.fullmatch(word[0].lower()):
            run.append(word)
            continue
        yield from _best(slot, text, run, core, today)
        run = [word] if word is not None and vocabulary.fullmatch(word[0].lower()) else []


def _best(
    slot: Slot, text: str, run: list[re.Match[str]], core: re.Pattern[str], today: date
) -> Iterator[_Found]:
    """Yield the longest part of a run that is a value. Only words without a value of their own may
    be left out."""
    if not any(core.fullmatch(each[0].lower()) for each in run):
        return
    for cut in range(min(len(run), 2 * _TRIMMED)):
        for first in range(cut + 1):
            part = run[first : len(run) - (cut - first)]
            left = [*run[:first], *run[len(run) - (cut - first) :]]
            if not part or any(core.fullmatch(each[0].lower()) for each in left):
                continue
            words = text[part[0].start() : part[-1].end()]
            if _goes_on(slot, text, part[-1].end()):
                continue
            value = read(slot, words, today)
            if value is not None and value != UNKNOWN:
                yield _Found(value, part[0].start(), part[-1].end())
                return


def _goes_on(slot: Slot, text: str, end: int) -> bool:
    """Return whether the words after `end` change the meaning of those before it."""
    if slot.type is not SlotType.DATE:
        return _CLOCK.match(text, end) is not None
    before = text[:end]
    beside = _BASE.search(before) and _BESIDE.match(text, end)
    return bool(beside or (names_rank(before.split()[-1]) and _RANKED.match(text, end)))


@cache
def _vocabulary(kind: SlotType) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return two patterns: one for all words that a value may contain, and one that at least one of
    the value's words must match."""
    number = rf"(?:{one_of(numbers())}(?:-{one_of(numbers())})?|[£$€]?\d[\d.,:]*(?:st|nd|rd|th)?)"
    if kind is SlotType.DATE:
        days = "|".join(name.lower() for name in (*WEEKDAYS, *MONTHS))
        units_of = "days?|weeks?|fortnights?|months?|years?|weekend"
        near = r"yesterday|today|tonight|tomorrow|ago|morning|weekend|week|\d+[-/]\d+[-/]\d+"
        core = rf"(?:{days}|{near}|{FEAST}|{number})(?:'s)?"
        return _with(core, f"{units_of}|evening|afternoon|night|eve|day", _DATE_JOINS)
    if kind is SlotType.TIME:
        core = rf"(?:{number}|noon|midday|midnight|minutes)(?: ?[ap]m)?"
        return _with(core, r"[ap]\.?m\.?|morning|afternoon|evening|night|tonight", _TIME_JOINS)
    named = one_of(re.escape(each) for each in units() if " " not in each)
    core = rf"(?:{number}|half|hour|k|grand|dozen)(?:{named})?|{named}"
    return _with(core, "degrees?", _NUMBER_JOINS)


def _with(core: str, more: str, joins: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    every = f"{core}|{more}|{one_of(joins.split())}"
    return re.compile(every), re.compile(core)
