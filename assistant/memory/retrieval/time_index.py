"""Indexes memories by the day on which they were said and the days that they mention.

"What was wrong with the boiler in May?" asks for memories that were said in May or mention a day in
May. Such memories get a bonus. The bonus fades with the distance from that time, since people
mention things days later, and may call a day five weeks ago "last month". Other memories are left
out only if the question asks for nothing but a time ("What did I say yesterday?").
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from assistant.language.calendar import Span, local_day
from assistant.language.time_expressions import find_time_expressions
from assistant.memory.records.arrays import Rows, Values
from assistant.memory.records.memory import LONGEST_READ

Days = NDArray[np.float32]
"""Days in the numbering of `date.toordinal`, NaN for none; shape (rows,)."""

MENTIONED = 2
"""Maximum number of spans of days stored per memory. Further spans are ignored, because a text that
mentions many is not about a particular time."""
LONGEST = 400
"""Longest span in days that is stored. Longer ones say little about a memory."""
FADE_DAYS = 2.0
FADE_SHARE = 0.25
"""Outside a span, closeness halves every n days, where n is `FADE_DAYS` plus `FADE_SHARE` times the
span's length in days, but at most `FADE_MOST`."""
FADE_MOST = 14.0
NEAR = 0.5
"""If a question asks only for a time, memories with a lower closeness to this time are left out."""
_NOTHING_ELSE = (
    "what who did do does was were have has had i we you me us my our tell told telling say said "
    "saying talk talked talking mention mentioned discuss discussed speak spoke happen happened "
    "happening about anything something everything things all up to on in at the a of that it is "
    "and with remember can could please over been there"
)
NOTHING_ELSE = frozenset(_NOTHING_ELSE.split())
"""Words that may occur in a question that asks only for a time."""
_WORD = re.compile(r"[^\W_]+")
_ASKS_WHEN = re.compile(r"\W*(?:(?:and|so|but|oh|hey) )*when\b|.*\bhow long ago\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TimeAsked:
    """The time that a question names. `alone`: the question asks for nothing but this time. `when`:
    the question asks when something happened."""

    spans: tuple[Span, ...]
    alone: bool
    when: bool


def time_asked(text: str, now: datetime) -> TimeAsked | None:
    """Return the time that a question names; None if it neither names a time nor asks for one.
    Takes 0.1 ms if it names a time, otherwise 5 µs."""
    when = _ASKS_WHEN.match(text) is not None
    found = find_time_expressions(text, now.astimezone().date())
    if not found.spans and not when:
        return None
    rest = set(_WORD.findall(found.rest.lower()))
    return TimeAsked(found.spans, bool(found.spans) and rest <= NOTHING_ELSE, when)


class RowTimes:
    """For each row of an index, the day on which it was said and the days that it mentions."""

    def __init__(self) -> None:
        self._said = np.empty(0, np.float32)
        self._mentioned = np.empty((0, MENTIONED, 2), np.float32)
        """The first and last day of up to `MENTIONED` spans per row; NaN for unused entries."""

    def reserve(self, room: int) -> None:
        more = room - len(self._said)
        self._said = np.concatenate([self._said, np.full(more, np.nan, np.float32)])
        self._mentioned = np.concatenate(
            [self._mentioned, np.full((more, MENTIONED, 2), np.nan, np.float32)]
        )

    def write(self, row: int, text: str, said: datetime) -> None:
        day = local_day(said)
        self._said[row], self._mentioned[row] = day.toordinal(), np.nan
        spans = [
            each
            for each in find_time_expressions(text[:LONGEST_READ], day).spans
            if each.days <= LONGEST
        ]
        for place, span in enumerate(spans[:MENTIONED]):
            self._mentioned[row, place] = span.first.toordinal(), span.last.toordinal()

    def clear(self, row: int) -> None:
        self._said[row] = self._mentioned[row] = np.nan

    def within(self, asked: TimeAsked, size: int) -> Rows:
        """Return the rows among the first `size` that were said at this time or mention it."""
        inside = np.zeros(size, np.bool_)
        for first, last in _ordinals(asked.spans):
            inside |= (self._said[:size] >= first) & (self._said[:size] <= last)
            for place in range(MENTIONED):
                starts, ends = self._mentioned[:size, place].T
                inside |= (starts <= last) & (ends >= first)
        return np.flatnonzero(inside)

    def belonging(self, rows: Rows, asked: TimeAsked) -> Rows:
        """Return the rows that were said at or near this time, or mention a day at or near it."""
        return rows[self._closeness(rows, asked.spans) >= NEAR]

    def evidence(self, rows: Rows, asked: TimeAsked | None) -> tuple[Values | None, Values | None]:
        """Return two arrays with one value per row.

        The first is the row's closeness to the named time, from 0 to 1; 1 if it was said then or
        mentions a day of that time. It is None if no time is named. The second is 1 if the row
        mentions any day, else 0. It is None unless the question asks when.
        """
        if asked is None:
            return None, None
        dated = (
            np.asarray(~np.isnan(self._mentioned[rows, 0, 0]), np.float64) if asked.when else None
        )
        return self._closeness(rows, asked.spans) if asked.spans else None, dated

    def _closeness(self, rows: Rows, spans: Sequence[Span]) -> Values:
        said, mentioned = self._said[rows], self._mentioned[rows]
        best = np.zeros(len(rows))
        for first, last in _ordinals(spans):
            length = last - first + 1
            np.fmax(best, _faded(said, said, first, last), out=best)
            for place in range(MENTIONED):
                starts, ends = mentioned[:, place].T
                exact = np.minimum(1.0, np.sqrt(length / (ends - starts + 1)))
                np.fmax(best, exact * _faded(starts, ends, first, last), out=best)
        return best


def _ordinals(spans: Iterable[Span]) -> list[tuple[int, int]]:
    return [(span.first.toordinal(), span.last.toordinal()) for span in spans]


def _faded(starts: Days, ends: Days, first: int, last: int) -> Values:
    """Return the closeness of spans of days to the span from `first` to `last`; NaN for missing
    days."""
    apart = np.maximum(0.0, np.maximum(first - ends, starts - last))
    half = min(FADE_MOST, FADE_DAYS + FADE_SHARE * (last - first + 1))
    return np.asarray(np.exp2(-apart / half), np.float64)
