"""The user's tasks in the store."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from assistant.context import Exchange
from assistant.memory import microseconds
from assistant.state import Entry, EntryKind, StateStore
from assistant.tasks.listening import Settled
from assistant.tasks.merging import Merging
from assistant.tasks.task import line_of, tasks_of


@dataclass(frozen=True, slots=True)
class Opening:
    """What opening a task has changed. `new` is the task's id if the task is new, otherwise empty.
    `before` maps the id of each changed task to its earlier moments."""

    new: str
    before: Mapping[str, Mapping[str, Any]]


class StoredTasks:
    """Reads and changes the tasks of a store. Thread-safe. All methods block, and may raise
    StoreError. Tasks and lines may disappear at any time.

    A task's content is {"name", "opened", "used_at", "closed_at", "asked_at", "read"}; the last
    three may be missing. A line's content is {"text", "said_at", "exchange"}. Times are in
    microseconds.
    """

    def __init__(self, store: StateStore, merging: Merging, now: Callable[[], datetime]) -> None:
        self._store = store
        self._merging = merging
        self._now = now
        self._changing = threading.Lock()

    def open(self, name: str) -> Opening:
        """Open a new task, and close the one that was open."""
        with self._changing:
            before = self._close_others("")
            now = microseconds(self._now())
            [new] = self._store.add(EntryKind.TASK, [{"name": name, "opened": now, "used_at": now}])
        return Opening(new.id, before)

    def resume(self, key: str) -> Opening | None:
        """Open a task again, and close the one that was open. Return None if the task is gone."""
        with self._changing:
            entry = self._store.get(key)
            if entry is None:
                return None
            before = {**self._close_others(key), key: _moments(entry)}
            now = microseconds(self._now())
            self._edit(key, {"opened": now, "used_at": now, "closed_at": None, "asked_at": None})
        return Opening("", before)

    def take_back(self, opening: Opening) -> bool:
        """Undo `open` or `resume`. A new task is kept if something has been settled about it since.
        Return whether anything has changed."""
        with self._changing:
            if opening.new:
                if self._store.entries(EntryKind.LINE, opening.new):
                    return False
                if not self._store.remove([opening.new]):
                    return False
            changed = [self._edit(key, moments) for key, moments in opening.before.items()]
        return bool(opening.new) or any(changed)

    def close(self, key: str) -> bool:
        """Close a task after asking the user what to do with it. Return whether it exists."""
        with self._changing:
            now = microseconds(self._now())
            return self._edit(key, {"closed_at": now, "asked_at": now})

    def settle(self, key: str, exchange: Exchange, new: Settled) -> None:
        """Add the results of reading an exchange to a task, and note that the exchange was read.
        Safe to repeat after an interruption. A replaced line's earlier text stays in its history.
        """
        with self._changing:
            entry = self._store.get(key)
            if entry is None:
                return
            [task] = tasks_of([entry], self._store.entries(EntryKind.LINE, key))
            if task.heard == exchange.id:
                return
            lines = list(task.lines)
            for each in new.found:
                day = exchange.started.astimezone().date()
                texts = [line.text if line.day == day else line.shown for line in lines]
                place = self._merging.place(each, texts)
                if place is None:
                    continue
                content = {
                    "text": place.text,
                    "said_at": microseconds(exchange.started),
                    "exchange": exchange.id,
                }
                if place.line is None:
                    [entry] = self._store.add(EntryKind.LINE, [content], key)
                    lines.append(line_of(entry))
                    continue
                old = lines[place.line]
                changed = self._store.change(old.id, content, exchange.id, logged=True)
                if changed is not None:
                    lines[place.line] = line_of(changed)
            used = {"used_at": microseconds(self._now())} if new.about else {}
            if not self._edit(key, {"read": exchange.id, **used}):  # forgotten in between
                self._store.remove([line.id for line in lines])

    # -- inside ---------------------------------------------------------------------------------

    def _close_others(self, key: str) -> dict[str, Mapping[str, Any]]:
        """Close all open tasks but the one with this id. Return their earlier moments by id."""
        open_ = [
            each
            for each in self._store.entries(EntryKind.TASK)
            if each.id != key and "closed_at" not in each.content
        ]
        for each in open_:
            self._edit(each.id, {"closed_at": microseconds(self._now())})
        return {each.id: _moments(each) for each in open_}

    def _edit(self, key: str, changes: Mapping[str, Any]) -> bool:
        """Change fields of a task. None removes a field."""
        entry = self._store.get(key)
        if entry is None:
            return False
        merged = {**entry.content, **changes}
        content = {name: value for name, value in merged.items() if value is not None}
        return self._store.change(key, content) is not None


def _moments(entry: Entry) -> dict[str, Any]:
    """Return a task's moments, with None for each that is missing. They contain nothing that was
    said."""
    return {
        name: entry.content.get(name) for name in ("opened", "used_at", "closed_at", "asked_at")
    }
