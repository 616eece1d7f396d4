"""Repetitions, and when they are due next."""

from calendar import monthrange
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import count
from typing import Any, Literal, get_args

Unit = Literal["minute", "hour", "day", "week", "month", "year"]
_ELAPSED: dict[str, timedelta] = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1)}
SHIFT = timedelta(days=2)
"""A margin that is larger than any change of the clocks."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A repetition every `every` units of time.

    Minutes and hours count elapsed time. Everything else follows the local calendar and clock.
    """

    every: int
    unit: Unit
    weekdays: tuple[int, ...] = ()
    """The days of the week in ascending order; Monday is 0. Empty means the weekday of the first
    occurrence. With `nth`, the only entry is the weekday that is counted in the month."""
    day: int = 0
    """The day of the month, 1 to 31; in shorter months, the last day. 0 means the day of the first
    occurrence."""
    nth: int = 0
    """Which occurrence of the weekday in a month: 1 to 4, or -1 for the last. 0 means none."""

    def __post_init__(self) -> None:
        if self.every < 1 or self.unit not in get_args(Unit):
            raise ValueError(f"No repetition: every {self.every} {self.unit}")

    def as_json(self) -> dict[str, Any]:
        """Return JSON-compatible content, without fields that have their default value."""
        content: dict[str, Any] = {"every": self.every, "unit": self.unit}
        if self.weekdays:
            content["weekdays"] = list(self.weekdays)
        return content | {key: n for key, n in (("day", self.day), ("nth", self.nth)) if n}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Repeat":
        """Return the repetition that `as_json` converted to this content.

        Raises:
            KeyError, ValueError: the content has another form.
        """
        return cls(
            content["every"],
            content["unit"],
            tuple(content.get("weekdays", ())),
            content.get("day", 0),
            content.get("nth", 0),
        )


def occurrence(
    local: datetime, repeat: Repeat | None, after: datetime, zone: tzinfo | None = None
) -> datetime | None:
    """Return the first time after `after` at which something is due, in UTC; None if there is none.

    If a local time is skipped because clocks go forward, it is moved forward by the same amount. If
    a local time exists twice, only the first one counts.

    Args:
        local: naive local time of the first occurrence.
        after: aware time, in any zone.
        zone: the zone of `local`; None for the zone of this computer.
    """
    try:
        if repeat is not None and repeat.unit in _ELAPSED:
            return _elapsed(_instant(local, zone), repeat, after)
        if repeat is None:
            days: Iterator[date] = iter([local.date()])
        else:
            days = dates(repeat, local.date(), (after.astimezone(zone) - SHIFT).date())
        times = (_instant(datetime.combine(day, local.time()), zone) for day in days)
        return next((at for at in times if at > after), None)
    except (OverflowError, ValueError):  # past the end of the calendar
        return None


def dates(repeat: Repeat, first: date, since: date) -> Iterator[date]:
    """Yield the days of a repetition from `first` on, in order. Most of the days before `since` are
    skipped.

    Raises OverflowError or ValueError at the end of the calendar.
    """
    if repeat.unit == "day":
        begin = max(0, (since - first).days // repeat.every)
        for step in count(begin):
            yield first + timedelta(days=step * repeat.every)
    elif repeat.unit == "week":
        monday = first - timedelta(days=first.weekday())
        begin = max(0, (since - monday).days // (7 * repeat.every))
        for step in count(begin):
            for weekday in repeat.weekdays or (first.weekday(),):
                day = monday + timedelta(days=7 * step * repeat.every + weekday)
                if day >= first:
                    yield day
    else:
        months = repeat.every * (12 if repeat.unit == "year" else 1)
        begin = max(0, _months(since) - _months(first) - 1) // months
        for step in count(begin):
            year, month = divmod(_months(first) + step * months, 12)
            day = _in_month(repeat, year, month + 1, first.day)
            if day >= first:
                yield day


def _months(day: date) -> int:
    return 12 * day.year + day.month - 1


def _in_month(repeat: Repeat, year: int, month: int, usual: int) -> date:
    starts, length = monthrange(year, month)
    if not repeat.nth:
        return date(year, month, min(repeat.day or usual, length))
    day = 1 + (repeat.weekdays[0] - starts) % 7
    last = day + (length - day) // 7 * 7
    return date(year, month, last if repeat.nth < 0 else day + 7 * (repeat.nth - 1))


def _elapsed(first: datetime, repeat: Repeat, after: datetime) -> datetime:
    step = repeat.every * _ELAPSED[repeat.unit]
    return first if after < first else first + ((after - first) // step + 1) * step


def _instant(local: datetime, zone: tzinfo | None) -> datetime:
    """Return the first moment at which the clock shows `local`. If `local` is skipped when clocks
    go forward, the offset before the change is used, so the clock shows a later time at that
    moment.

    For a skipped time, Python's `astimezone` without a zone would use the offset after the change,
    but `timestamp` doesn't.
    """
    if zone is None:
        return datetime.fromtimestamp(local.replace(fold=0).timestamp(), UTC)
    return local.replace(tzinfo=zone, fold=0).astimezone(UTC)
