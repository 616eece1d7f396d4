"""Stores the entries of the user's state in the transcript's database."""

import json
import logging
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from assistant.context import Exchange
from assistant.errors import StoreError
from assistant.events import Event, StateChanged, StateEntry
from assistant.memory import HiddenItems, Transcript, microseconds, short, time_of
from assistant.state.contents import check_content
from assistant.state.entries import Change, Entry, EntryKind, content_of

logger = logging.getLogger(__name__)

_COLUMNS = "id, kind, parent, created, changed, content"
_NEWLY = "INSERT INTO state (user, id, kind, parent, created, changed, content)"
_EARLIER = "INSERT INTO state_change (entry, at, exchange, content)"


class StateStore:
    """One user's state. Thread-safe. It implements `HidesItems`: `HiddenItems.memories` may contain
    ids of entries. If a user has several stores, each has to be told what is hidden.

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
        self.now = now
        """Returns the current time in UTC, for the times of entries and changes."""
        self._hidden: dict[str, HiddenItems] = {}
        self._unreadable: set[str] = set()
        """Ids of the entries that have been logged because no skill could read them."""

    # -- reading --------------------------------------------------------------------------------

    def entries(
        self, kind: EntryKind, parent: str | None = None, *, unreadable: bool = False
    ) -> list[Entry]:
        """Return the entries of a kind, in the order in which they were added. Hidden entries, and
        those that belong to a hidden entry, are left out.

        Args:
            parent: return only what belongs to this entry.
            unreadable: whether to include entries that no skill could read, e.g. to delete them.
        """
        found = self._read("kind = ? AND (? IS NULL OR parent = ?)", (kind.value, parent, parent))
        shown = self._shown(found)
        return shown if unreadable else [each for each in shown if self._readable(each)]

    def get(self, key: str) -> Entry | None:
        """Return the entry with this id; None if it does not exist, is hidden, or no skill could
        read it."""
        found = self._shown(self._read("id = ?", (key,)))
        return next((each for each in found if self._readable(each)), None)

    def changes(self, key: str) -> list[Change]:
        """Return the earlier contents of an entry, oldest first."""
        with self._transcript.reading() as db:
            return self._changes(db, key)

    # -- changing -------------------------------------------------------------------------------

    def add(
        self, kind: EntryKind, contents: Iterable[Mapping[str, Any]], parent: str = ""
    ) -> list[Entry]:
        """Add entries of a kind in one transaction, and return them."""
        new = self.new(kind, contents, parent)
        self.restore(new)
        return new

    def new(
        self, kind: EntryKind, contents: Iterable[Mapping[str, Any]], parent: str = ""
    ) -> list[Entry]:
        """Return new entries that are not stored yet. `restore` adds them, in one transaction with
        others."""
        now = self.now()
        return [Entry(uuid4().hex, kind, each, parent, now, now) for each in contents]

    def restore(self, entries: Sequence[Entry]) -> list[Entry]:
        """Add entries as they were, e.g. to undo `remove`, unless their ids exist. Return the
        entries that were added."""
        insert = f"{_NEWLY} VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id"
        with self._transcript.writing() as db:
            added = [
                each for each in entries if db.execute(insert, (self._user, *_row(each))).fetchall()
            ]
            for each in added:
                earlier = [
                    (each.id, microseconds(old.at), old.exchange, _text(old.content))
                    for old in each.earlier
                ]
                db.executemany(f"{_EARLIER} VALUES (?, ?, ?, ?)", earlier)
        self._tell(each.kind for each in added)
        return added

    def of_others(self, ids: Collection[str]) -> set[str]:
        """Return those of the given ids that belong to other users' entries."""
        query = "SELECT id FROM state WHERE user != ? AND id IN (SELECT value FROM json_each(?))"
        with self._transcript.reading() as db:
            found = db.execute(query, (self._user, json.dumps(list(ids)))).fetchall()
        return {key for (key,) in found}

    def forgotten(self) -> tuple[set[str], set[str]]:
        """Return the marks (see `mark_of`) of the user's purged entries, and the ids of the user's
        purged exchanges."""
        with self._transcript.reading() as db:
            marks = db.execute("SELECT mark FROM forgotten_state WHERE user = ?", (self._user,))
            entries = {mark for (mark,) in marks.fetchall()}
            said = db.execute("SELECT exchange FROM forgotten WHERE user = ?", (self._user,))
            return entries, {key for (key,) in said.fetchall()}

    def change(
        self, key: str, content: Mapping[str, Any], exchange: str = "", *, logged: bool = False
    ) -> Entry | None:
        """Replace an entry's content. Return the new entry; None if it does not exist.

        Args:
            exchange: id of the exchange whose words change the entry.
            logged: whether to keep the earlier content, for `changes`.
        """
        at = microseconds(self.now())
        with self._transcript.writing() as db:
            owned = (self._user, key)
            if logged:
                db.execute(
                    f"{_EARLIER} SELECT id, ?, ?, content FROM state WHERE user = ? AND id = ?",
                    (at, exchange, *owned),
                )
            row = db.execute(
                "UPDATE state SET content = ?, changed = ? WHERE user = ? AND id = ?"
                f" RETURNING {_COLUMNS}",
                (_text(content), at, *owned),
            ).fetchone()
        if row is None:
            return None
        entry = _entry(row)
        self._tell([entry.kind])
        return entry

    def change_all(self, contents: Mapping[str, Mapping[str, Any]]) -> list[Entry]:
        """Replace the contents of several entries in one transaction. Return the new versions of
        those that exist.

        Args:
            contents: id of an entry → its new content.
        """
        at = microseconds(self.now())
        with self._transcript.writing() as db:
            rows = [
                db.execute(
                    "UPDATE state SET content = ?, changed = ? WHERE user = ? AND id = ?"
                    f" RETURNING {_COLUMNS}",
                    (_text(content), at, self._user, key),
                ).fetchone()
                for key, content in contents.items()
            ]
        entries = [_entry(row) for row in rows if row is not None]
        self._tell(each.kind for each in entries)
        return entries

    def remove(self, keys: Collection[str], *, if_empty: bool = False) -> list[Entry]:
        """Delete entries, and everything that belongs to them. Return what was deleted, so that it
        can be restored.

        Args:
            if_empty: whether to keep an entry that other entries, even hidden ones, belong to.
        """
        with self._transcript.writing() as db:
            if if_empty:
                query = "SELECT EXISTS (SELECT 1 FROM state WHERE user = ? AND parent = ?)"
                keys = [k for k in keys if not db.execute(query, (self._user, k)).fetchone()[0]]
            gone = self._delete(db, keys)
        self._tell(each.kind for each in gone)
        return gone

    def tell(self) -> None:
        """Emit StateChanged for each kind that has entries. Called when a session starts, so that a
        screen shows the state."""
        with self._transcript.reading() as db:
            query = "SELECT DISTINCT kind FROM state WHERE user = ? ORDER BY kind"
            found = db.execute(query, (self._user,)).fetchall()
        known = {kind for (kind,) in found}
        self._tell(kind for kind in EntryKind if kind.value in known)

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
            mine = "FROM state WHERE user = ? AND (id = ? OR parent = ?)"
            values = (self._user, key, key)
            ids = [each for (each,) in db.execute(f"SELECT id {mine}", values)]
            earlier = {each: tuple(self._changes(db, each)) for each in ids}
            found = db.execute(f"DELETE {mine} RETURNING {_COLUMNS}", values).fetchall()
            gone += [replace(each, earlier=earlier[each.id]) for each in map(_entry, found)]
        return gone

    def _changes(self, db: sqlite3.Connection, key: str) -> list[Change]:
        found = db.execute(
            "SELECT c.at, c.exchange, c.content FROM state_change c JOIN state s"
            " ON s.id = c.entry WHERE s.user = ? AND s.id = ? ORDER BY c.number",
            (self._user, key),
        ).fetchall()
        return [Change(time_of(at), source, content_of(text)) for at, source, text in found]

    def _shown(self, found: Sequence[Entry]) -> list[Entry]:
        hidden = {key for each in list(self._hidden.values()) for key in each.memories}
        return [each for each in found if hidden.isdisjoint((each.id, each.parent))]

    def _readable(self, entry: Entry) -> bool:
        """Whether the skills can read an entry. They may be unable to if an older version of this
        program wrote it, or the user edited it. Leaving it out keeps the others usable."""
        try:
            check_content(entry.kind, entry.content)
        except ValueError as error:
            if entry.id not in self._unreadable:
                self._unreadable.add(entry.id)
                logger.warning("the %s %s is left out: %s", entry.kind, short(entry.id), error)
            return False
        return True

    def _tell_of(self, items: HiddenItems) -> None:
        """Emit the changed state. A deletion must not fail because the state can't be read."""
        ids = json.dumps(items.memories)
        try:
            found = self._read("id IN (SELECT value FROM json_each(?))", (ids,))
        except StoreError as error:
            logger.warning("the state can't be shown: %s", error)
            return
        self._tell(each.kind for each in found)

    def _tell(self, kinds: Iterable[EntryKind]) -> None:
        """Emit the changed state. If it can't be read, the change itself has still succeeded."""
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
    return (entry.id, entry.kind.value, entry.parent, *times, _text(entry.content))


def _text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False)


def _entry(row: Sequence[Any]) -> Entry:
    key, kind, parent, created, changed, content = row
    times = (time_of(created), time_of(changed))
    return Entry(key, EntryKind(kind), content_of(content), parent, *times)
