"""Stores the entries of the user's state in the transcript's database."""

import json
import logging
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import uuid4

from assistant.context import Exchange
from assistant.errors import StoreError
from assistant.events import Event, Searched, StateChanged, StateEntry
from assistant.memory import (
    FindsWords,
    HiddenItems,
    RemovesWords,
    Transcript,
    microseconds,
    time_of,
)

logger = logging.getLogger(__name__)

_COLUMNS = "id, kind, parent, created, changed, content"
NO_WORDS = frozenset({"form", "title", "slot", "label", "asked", "read", "exchange"})
"""Keys of contents with texts that are not the user's words: names of a form and of what it asks
for, and ids."""
_NEWLY = "INSERT INTO state (user, id, kind, parent, created, changed, content)"


class EntryKind(StrEnum):
    """What an entry is. Items belong to a list, slots to a form, and lines to a task."""

    TIMER = "timer"
    ALARM = "alarm"
    REMINDER = "reminder"
    LIST = "list"
    ITEM = "item"
    NOTE = "note"
    FORM = "form"
    SLOT = "slot"
    TASK = "task"
    LINE = "line"
    VOICE = "voice"
    """How loud and how fast the assistant speaks."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the user's state.

    `content` is JSON-compatible. The skill that owns the kind defines its keys. `parent` is the id
    of the entry that this one belongs to, or empty. Times are in UTC.
    """

    id: str
    kind: EntryKind
    content: Mapping[str, Any]
    parent: str
    created: datetime
    changed: datetime

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts in the content that the user has said or written."""
        return tuple(_texts(self.content))


@dataclass(frozen=True, slots=True)
class Change:
    """An earlier content of an entry. `at` is when it was replaced, and `exchange` the id of the
    exchange whose words replaced it, or empty."""

    at: datetime
    exchange: str
    content: Mapping[str, Any]


class StateStore:
    """One user's state. Thread-safe. It is a `DataLocation`, and a `HidesItems` of deletions: the
    ids of entries count as ids of memories.

    Each call blocks for about a millisecond and may raise StoreError. A call that raises StoreError
    has changed nothing.

    Args:
        emit: receives StateChanged after each change; may be called by any thread.
    """

    def __init__(
        self,
        transcript: Transcript,
        user: str,
        emit: Callable[[Event], object] = lambda _: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._transcript = transcript
        self._user = user
        self._emit = emit
        self._now = now
        self._hidden: dict[str, HiddenItems] = {}
        transcript.locations.append(self)

    # -- reading --------------------------------------------------------------------------------

    def entries(self, kind: EntryKind, parent: str | None = None) -> list[Entry]:
        """Return the entries of a kind, in the order in which they were added. Hidden entries, and
        those that belong to a hidden entry, are left out.

        Args:
            parent: return only what belongs to this entry.
        """
        found = self._read("kind = ? AND (? IS NULL OR parent = ?)", (kind.value, parent, parent))
        hidden = self._hidden_ids()
        return [each for each in found if hidden.isdisjoint((each.id, each.parent))]

    def get(self, key: str) -> Entry | None:
        """Return the entry with this id; None if it does not exist or is hidden."""
        hidden = self._hidden_ids()
        found = self._read("id = ?", (key,))
        return next((each for each in found if hidden.isdisjoint((each.id, each.parent))), None)

    def changes(self, key: str) -> list[Change]:
        """Return the earlier contents of an entry, oldest first."""
        with self._transcript.reading() as db:
            found = db.execute(
                "SELECT c.at, c.exchange, c.content FROM state_change c JOIN state s"
                " ON s.id = c.entry WHERE s.user = ? AND s.id = ? ORDER BY c.number",
                (self._user, key),
            ).fetchall()
        return [Change(time_of(at), source, json.loads(text)) for at, source, text in found]

    # -- changing -------------------------------------------------------------------------------

    def add(
        self, kind: EntryKind, contents: Iterable[Mapping[str, Any]], parent: str = ""
    ) -> list[Entry]:
        """Add entries of a kind in one transaction, and return them."""
        now = self._now()
        new = [Entry(uuid4().hex, kind, each, parent, now, now) for each in contents]
        self.restore(new)
        return new

    def restore(self, entries: Sequence[Entry]) -> None:
        """Add entries as they were, e.g. to undo `remove`. Those that exist are left unchanged.
        Their earlier contents are lost."""
        with self._transcript.writing() as db:
            db.executemany(
                f"{_NEWLY} VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [(self._user, *_row(each)) for each in entries],
            )
        self._tell(each.kind for each in entries)

    def change(
        self, key: str, content: Mapping[str, Any], exchange: str = "", *, logged: bool = False
    ) -> Entry | None:
        """Replace an entry's content. Return the new entry; None if it does not exist.

        Args:
            exchange: id of the exchange whose words change it.
            logged: whether to keep the earlier content, for `changes`.
        """
        at = microseconds(self._now())
        with self._transcript.writing() as db:
            owned = (self._user, key)
            if logged:
                db.execute(
                    "INSERT INTO state_change (entry, at, exchange, content)"
                    " SELECT id, ?, ?, content FROM state WHERE user = ? AND id = ?",
                    (at, exchange, *owned),
                )
            text = json.dumps(content, ensure_ascii=False)
            row = db.execute(
                "UPDATE state SET content = ?, changed = ? WHERE user = ? AND id = ?"
                f" RETURNING {_COLUMNS}",
                (text, at, *owned),
            ).fetchone()
        if row is None:
            return None
        entry = _entry(row)
        self._tell([entry.kind])
        return entry

    def change_all(self, contents: Mapping[str, Mapping[str, Any]]) -> list[Entry]:
        """Replace the contents of several entries in one transaction. Return the new entries, of
        those that exist.

        Args:
            contents: id of an entry → its new content.
        """
        at = microseconds(self._now())
        with self._transcript.writing() as db:
            rows = [
                db.execute(
                    "UPDATE state SET content = ?, changed = ? WHERE user = ? AND id = ?"
                    f" RETURNING {_COLUMNS}",
                    (json.dumps(content, ensure_ascii=False), at, self._user, key),
                ).fetchone()
                for key, content in contents.items()
            ]
        entries = [_entry(row) for row in rows if row is not None]
        self._tell(each.kind for each in entries)
        return entries

    def remove(self, keys: Collection[str]) -> list[Entry]:
        """Delete entries, and everything that belongs to them. Return what was deleted, so that it
        can be restored."""
        with self._transcript.writing() as db:
            gone = self._delete(db, keys)
        self._tell(each.kind for each in gone)
        return gone

    def tell(self) -> None:
        """Emit StateChanged for each kind of which there are entries. Called when a session starts,
        so that a screen shows what there is."""
        with self._transcript.reading() as db:
            query = "SELECT DISTINCT kind FROM state WHERE user = ? ORDER BY kind"
            found = db.execute(query, (self._user,)).fetchall()
        self._tell(EntryKind(kind) for (kind,) in found)

    # -- as a `HidesItems` ----------------------------------------------------------------------

    def hide(self, items: HiddenItems) -> None:
        """Leave these entries out until they are purged or brought back."""
        self._hidden[items.id] = items
        self._tell_of(items)

    def unhide(
        self, items: HiddenItems, exchanges: Sequence[tuple[str, Exchange]]
    ) -> Sequence[Exchange]:
        """Undo `hide`."""
        del exchanges
        self._hidden.pop(items.id, None)
        self._tell_of(items)
        return ()

    def purged(self, items: HiddenItems, *, clean: bool) -> None:
        """React to the end of a purge."""
        del clean
        self._hidden.pop(items.id, None)

    # -- as a `DataLocation` --------------------------------------------------------------------

    def words(
        self, user: str, exchanges: Collection[str], memories: Collection[str]
    ) -> tuple[list[str], list[str]]:
        """Return the texts of the entries that are deleted with these memories, and those of all
        others."""
        going: list[str] = []
        staying: list[str] = []
        with self._transcript.reading() as db:
            for entry in _all(db, user):
                gone = entry.id in memories or entry.parent in memories
                texts = going if gone else staying
                texts += entry.texts
                for content in _earlier(db, entry.id):
                    said_there = gone or content.get("exchange", "") in exchanges
                    (going if said_there else staying).extend(_texts(content))
        return going, staying

    def purge(self, gone: RemovesWords) -> int:
        """Delete the entries whose ids are among the memories, all that belongs to them, and
        earlier contents that come from the exchanges. Return how many were deleted."""
        if gone.user != self._user:
            return 0
        deleted = len(self.remove(gone.memories)) + self._forget_earlier(gone.exchanges)
        if deleted:
            self._transcript.rewrite()
        return deleted

    def search(self, patterns: FindsWords) -> Iterable[Searched]:
        """Return nothing: the search of the transcript covers its tables."""
        del patterns
        return ()

    def limits(self) -> Iterable[str]:
        return ()

    # -- inside ---------------------------------------------------------------------------------

    def _read(self, where: str, values: tuple[Any, ...]) -> list[Entry]:
        with self._transcript.reading() as db:
            found = db.execute(
                f"SELECT {_COLUMNS} FROM state WHERE user = ? AND {where} ORDER BY number",
                (self._user, *values),
            ).fetchall()
        return list(map(_entry, found))

    def _delete(self, db: sqlite3.Connection, keys: Collection[str]) -> list[Entry]:
        gone: list[Entry] = []
        for key in keys:
            found = db.execute(
                f"DELETE FROM state WHERE user = ? AND (id = ? OR parent = ?) RETURNING {_COLUMNS}",
                (self._user, key, key),
            ).fetchall()
            gone += map(_entry, found)
        return gone

    def _forget_earlier(self, exchanges: Collection[str]) -> int:
        """Delete the earlier contents that come from these exchanges. Return their number."""
        with self._transcript.writing() as db:
            return db.execute(
                "DELETE FROM state_change WHERE entry IN (SELECT id FROM state WHERE user = ?)"
                " AND json_extract(content, '$.exchange') IN (SELECT value FROM json_each(?))",
                (self._user, json.dumps(list(exchanges))),
            ).rowcount

    def _hidden_ids(self) -> set[str]:
        return {key for each in list(self._hidden.values()) for key in each.memories}

    def _tell_of(self, items: HiddenItems) -> None:
        """Emit what has changed. A deletion must not fail because the state can't be read."""
        ids = json.dumps(items.memories)
        try:
            found = self._read("id IN (SELECT value FROM json_each(?))", (ids,))
        except StoreError as error:
            logger.warning("the state can't be shown: %s", error)
            return
        self._tell(each.kind for each in found)

    def _tell(self, kinds: Iterable[EntryKind]) -> None:
        """Emit what has changed. What was changed stays so, even if it can't be read now."""
        for kind in dict.fromkeys(kinds):
            try:
                found = self.entries(kind)
            except StoreError as error:
                logger.warning("the state can't be shown: %s", error)
                return
            rows = tuple(StateEntry(each.id, each.parent, each.content) for each in found)
            self._emit(StateChanged(kind.value, rows))


def _row(entry: Entry) -> tuple[Any, ...]:
    times = (microseconds(entry.created), microseconds(entry.changed))
    text = json.dumps(entry.content, ensure_ascii=False)
    return (entry.id, entry.kind.value, entry.parent, *times, text)


def _entry(row: Sequence[Any]) -> Entry:
    key, kind, parent, created, changed, content = row
    times = (time_of(created), time_of(changed))
    return Entry(key, EntryKind(kind), json.loads(content), parent, *times)


def _all(db: sqlite3.Connection, user: str) -> list[Entry]:
    found = db.execute(f"SELECT {_COLUMNS} FROM state WHERE user = ?", (user,)).fetchall()
    return list(map(_entry, found))


def _earlier(db: sqlite3.Connection, key: str) -> list[Mapping[str, Any]]:
    found = db.execute("SELECT content FROM state_change WHERE entry = ?", (key,)).fetchall()
    return [json.loads(content) for (content,) in found]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if value.strip():
            yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if key not in NO_WORDS:
                yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
