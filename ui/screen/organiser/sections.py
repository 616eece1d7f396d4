"""Sorts the organiser's entries into sections. In a section, the entry that is due soonest comes
first, and open plans come before closed ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from assistant.events import StateEntry
from assistant.forms import Form
from assistant.skills import due_at, is_over
from assistant.tasks import task_is_open
from ui.text.state import seconds_left

NEVER = datetime.max.replace(tzinfo=UTC)
Kept = Mapping[str, tuple[StateEntry, ...]]
"""The user's entries by kind."""
Forms = Mapping[str, Form]
"""The definitions of forms by their keys."""
Row = tuple[str, StateEntry]
"""An entry and its kind. The content of an empty slot has no `value`."""


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    rows: tuple[Row, ...]


def sections(kept: Kept, forms: Forms, now: datetime) -> list[Section]:
    """Return the sections that are not empty."""
    found = (
        Section("Timers", _soonest(kept, "timer")),
        Section("Alarms and reminders", _soonest(kept, "alarm", "reminder")),
        Section("Forms", tuple(_forms(kept, forms, closed=False))),
        Section("Plans", tuple(_plans(kept, now))),
        Section("Lists", tuple(_lists(kept))),
        Section("Notes", tuple(("note", each) for each in reversed(kept.get("note", ())))),
        Section("Finished forms", tuple(_forms(kept, forms, closed=True))),
    )
    return [each for each in found if each.rows]


def ticking(kept: Kept, now: datetime) -> bool:
    """Whether a timer is running, so that the remaining time must be redrawn."""
    return any(
        "left_s" not in each.content and seconds_left(each.content, now) > 0
        for each in kept.get("timer", ())
    )


def definition(entry: StateEntry, kept: Kept, forms: Forms) -> Form | None:
    """Return the definition of a form, or of the form that a slot belongs to. None if the
    definition no longer exists."""
    owner = entry.parent or entry.id
    found = next((each for each in kept.get("form", ()) if each.id == owner), None)
    return forms.get(found.content["form"]) if found is not None else None


def _soonest(kept: Kept, *kinds: str) -> tuple[Row, ...]:
    """Return the entries that are yet to come due, soonest first, and paused timers last."""
    rows = [
        (kind, each) for kind in kinds for each in kept.get(kind, ()) if not is_over(each.content)
    ]
    return tuple(sorted(rows, key=lambda row: due_at(row[1].content, None) or NEVER))


def _forms(kept: Kept, forms: Forms, *, closed: bool) -> Iterator[Row]:
    """Yield the forms with their slots, most recently opened first."""
    found = [each for each in kept.get("form", ()) if bool(each.content.get("closed")) is closed]
    for each in sorted(found, key=_opened, reverse=True):
        yield "form", each
        for slot in _slots(each, kept, forms.get(each.content["form"])):
            yield "slot", slot


def _slots(entry: StateEntry, kept: Kept, form: Form | None) -> Iterator[StateEntry]:
    """Yield the slots in the order of the form. If the form is closed, empty slots are left out."""
    own = [each for each in kept.get("slot", ()) if each.parent == entry.id]
    filled = {each.content["slot"]: each for each in own}
    for slot in form.slots if form is not None else ():
        there = filled.pop(slot.name, None)
        if there is not None:
            yield there
        elif not entry.content.get("closed"):
            content = {"slot": slot.name, "label": slot.label}
            yield StateEntry(f"{entry.id}/{slot.name}", entry.id, content)
    yield from filled.values()


def _plans(kept: Kept, now: datetime) -> Iterator[Row]:
    """Yield the plans with their lines. Open plans come first."""
    newest = sorted(kept.get("task", ()), key=_opened, reverse=True)
    for each in sorted(newest, key=lambda task: not task_is_open(task.content, now)):
        yield "task", each
        own = [line for line in kept.get("line", ()) if line.parent == each.id]
        for line in sorted(own, key=lambda line: int(line.content["said_at"])):
            yield "line", line


def _opened(entry: StateEntry) -> int:
    return int(entry.content.get("opened", 0))


def _lists(kept: Kept) -> Iterator[Row]:
    for each in kept.get("list", ()):
        yield "list", each
        for item in kept.get("item", ()):
            if item.parent == each.id:
                yield "item", item
