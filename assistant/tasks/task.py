"""A task, and its lines."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Protocol

from assistant.language.absolute_dates import with_absolute_dates
from assistant.language.calendar import WEEKDAYS
from assistant.memory import time_of

IDLE = timedelta(hours=12)
"""A task counts as closed after this time without an exchange about it."""
KEPT = timedelta(days=7)
"""Time for which a closed task is kept after it was last used, closed or asked about."""


_WEEKDAY = re.compile(rf"\b(?:{'|'.join(WEEKDAYS)})s?\b", re.IGNORECASE)


class Row(Protocol):
    """An entry, from the store or from an event about it."""

    @property
    def id(self) -> str: ...

    @property
    def parent(self) -> str: ...

    @property
    def content(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Line:
    """Something that is settled, in the user's words. `said` is when they were said, and `exchange`
    the id of the exchange."""

    id: str
    text: str
    said: datetime
    exchange: str

    @property
    def day(self) -> date:
        """The local day on which it was said."""
        return self.said.astimezone().date()

    @property
    def shown(self) -> str:
        """The text in a form that stays true on later days: "tomorrow" becomes a date. A weekday
        stays as it is: it often means one of the days of the plan, and not the next such day."""
        if _WEEKDAY.search(self.text):
            return self.text
        return with_absolute_dates(self.text, self.day) or self.text


@dataclass(frozen=True, slots=True)
class Task:
    """A task and its lines, oldest first.

    `opened` is when it was opened or last resumed, and `used` the time of the last exchange about
    it. `closed` is None while it is open. `asked` is when the user was asked what to do with it;
    None if that has not happened since it was opened. `heard` is the id of the last exchange that
    `StoredTasks.settle` has processed.
    """

    id: str
    name: str
    opened: datetime
    used: datetime
    closed: datetime | None
    asked: datetime | None
    heard: str
    lines: tuple[Line, ...]

    def is_open(self, now: datetime) -> bool:
        """Whether it is open. It counts as closed if nobody has spoken about it for `IDLE`."""
        return self.closed is None and now - self.used < IDLE

    def unfinished(self, now: datetime) -> bool:
        """Whether it was closed without asking the user what to do with its lines."""
        return not self.is_open(now) and self.asked is None and bool(self.lines)

    def over(self, now: datetime) -> bool:
        """Whether it has been kept for long enough. A task with lines is kept at least until the
        user has been asked about it."""
        if self.is_open(now) or self.unfinished(now):
            return False
        since = max(each for each in (self.used, self.closed, self.asked) if each is not None)
        return now - since >= KEPT


def task_is_open(content: Mapping[str, Any], now: datetime) -> bool:
    """Whether a task with this content is open."""
    return "closed_at" not in content and now - time_of(content["used_at"]) < IDLE


def tasks_of(tasks: Iterable[Row], lines: Iterable[Row]) -> list[Task]:
    """Return the tasks with their lines. The task that was used last comes last. Lines are oldest
    first."""
    every = sorted(lines, key=lambda each: int(each.content["said_at"]))
    found = [_task(each, [line for line in every if line.parent == each.id]) for each in tasks]
    return sorted(found, key=lambda each: each.used)


def _task(row: Row, lines: Iterable[Row]) -> Task:
    content = row.content
    closed, asked = (
        time_of(content[name]) if name in content else None for name in ("closed_at", "asked_at")
    )
    return Task(
        row.id,
        str(content["name"]),
        time_of(content["opened"]),
        time_of(content["used_at"]),
        closed,
        asked,
        str(content.get("read", "")),
        tuple(map(line_of, lines)),
    )


def line_of(row: Row) -> Line:
    content = row.content
    return Line(row.id, str(content["text"]), time_of(content["said_at"]), str(content["exchange"]))
