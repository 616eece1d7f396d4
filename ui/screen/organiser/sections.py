"""Orders what the organiser shows: what is due soonest first, lists with their items."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from assistant.events import StateEntry
from assistant.skills import due_at, is_over
from ui.text.state import seconds_left

NEVER = datetime.max.replace(tzinfo=UTC)
Kept = Mapping[str, tuple[StateEntry, ...]]
"""The user's entries by kind."""
Row = tuple[str, StateEntry]
"""An entry and its kind."""


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    rows: tuple[Row, ...]


def sections(kept: Kept) -> list[Section]:
    """Return the sections that are not empty."""
    found = (
        Section("Timers", _soonest(kept, "timer")),
        Section("Alarms and reminders", _soonest(kept, "alarm", "reminder")),
        Section("Lists", tuple(_lists(kept))),
        Section("Notes", tuple(("note", each) for each in reversed(kept.get("note", ())))),
    )
    return [each for each in found if each.rows]


def ticking(kept: Kept, now: datetime) -> bool:
    """Whether a timer is running, so that the time that is left changes."""
    return any(
        "left_s" not in each.content and seconds_left(each.content, now) > 0
        for each in kept.get("timer", ())
    )


def _soonest(kept: Kept, *kinds: str) -> tuple[Row, ...]:
    """Return what will be due, soonest first, and paused timers last."""
    rows = [
        (kind, each) for kind in kinds for each in kept.get(kind, ()) if not is_over(each.content)
    ]
    return tuple(sorted(rows, key=lambda row: due_at(row[1].content, None) or NEVER))


def _lists(kept: Kept) -> Iterator[Row]:
    for each in kept.get("list", ()):
        yield "list", each
        for item in kept.get("item", ()):
            if item.parent == each.id:
                yield "item", item
