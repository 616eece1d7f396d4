"""The transcript: what the user said, and what they heard of the answers, in SQLite.

An exchange is stored when `store` returns. With WAL and `synchronous=NORMAL`, the operating system
has it from then on: the process may be killed at any moment; only a power cut may lose the last
exchanges, never the file. (`FULL` syncs at each commit, which on slow disks exceeds the 5 ms
budget.)

Calls block for about a millisecond; on an event loop use `asyncio.to_thread`. Thread-safe.
"""

import json
import os
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assistant.context import Conversation, Exchange, Summary
from assistant.encryption import BUSY_S, MasterKey, connect_sqlite
from assistant.errors import StoreError
from assistant.events import Latency, MemoryUsed
from assistant.memory.records.data_location import DataLocation
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.stored_values import microseconds, storable, time_of
from assistant.memory.transcript import hidden_rows, suppressions, vacuum
from assistant.memory.transcript.conversation_recordings import Recordings
from assistant.memory.transcript.exchange_rows import EXCHANGE, exchange_of
from assistant.memory.transcript.migrations import migrate
from assistant.memory.transcript.sqlite_errors import explained
from assistant.paths import Home

AT_ONCE = 100
"""Rows per transaction for work that can wait: a few milliseconds, which storing an exchange may
have to wait."""


class Transcript:
    """One file with any number of users. Every query names the user."""

    def __init__(self, db: sqlite3.Connection, path: Path, key: MasterKey | None = None) -> None:
        self._db = db
        self._path = path
        self.recordings = Recordings(Home(path.parent).recordings, key)
        self.locations: list[DataLocation] = [self.recordings]
        """Other places that hold words of exchanges; a store that keeps such words adds itself."""
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path, key: MasterKey | None = None) -> "Transcript":
        """Open or create the file, readable by its owner only, and migrate its schema.

        Args:
            key: the key of an encrypted transcript.

        Raises:
            StoreError: it can't be opened or written, is damaged, or has a newer version.
        """
        with explained(path):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            path.chmod(0o600)
            db = connect_sqlite(path, key, BUSY_S)
        try:
            with explained(path):
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = NORMAL")
                db.execute("PRAGMA secure_delete = ON")
                db.execute("PRAGMA foreign_keys = ON")
                migrate(db, path)
        except BaseException:
            db.close()
            raise
        return cls(db, path, key)

    def begin_conversation(self, user: str) -> Conversation:
        """A new conversation. It is stored with its first exchange."""
        return Conversation.begin(user)

    def resume(
        self, user: str, within: timedelta, now: datetime | None = None
    ) -> Conversation | None:
        """The user's last conversation, if it ended less than `within` ago.

        Only the distance counts, so a clock that was set back does no harm.

        Raises:
            StoreError: the file can't be read.
        """
        with self._lock, explained(self._path):
            row = self._db.execute(
                "SELECT conversation, ended FROM exchange WHERE user = ?"
                " ORDER BY ended DESC, rowid DESC LIMIT 1",
                (user,),
            ).fetchone()
            if row is None or abs((now or datetime.now(UTC)) - time_of(row[1])) > within:
                return None
            return self._load(user, row[0])

    def store(
        self,
        conversation: Conversation,
        exchange: Exchange,
        latency: Latency | None = None,
        memories: Sequence[MemoryUsed] = (),
    ) -> bool:
        """Store a complete exchange; storing it again changes nothing. Returns False if it has been
        forgotten, and so must not be kept.

        Raises:
            StoreError: it could not be written; nothing was.
            ValueError: the exchange is still open.
        """
        if exchange.ended is None:
            raise ValueError("an open exchange can't be stored")
        times: Mapping[str, float | None] = asdict(latency) if latency is not None else {}
        with self.writing():
            if hidden_rows.is_forgotten(self._db, exchange.id):
                return False
            self._name(conversation, exchange.started)
            self._db.execute(
                "INSERT OR IGNORE INTO exchange VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    exchange.id,
                    conversation.id,
                    exchange.turn,
                    conversation.user,
                    microseconds(exchange.started),
                    microseconds(exchange.ended),
                    storable(exchange.user_text),
                    storable(exchange.assistant_text),
                    int(exchange.interrupted),
                    json.dumps({name: ms for name, ms in times.items() if ms is not None}),
                    json.dumps([(memory.id, round(memory.score, 4)) for memory in memories]),
                ),
            )
        return True

    def store_summary(self, conversation: Conversation, summary: Summary) -> None:
        """Store a summary, replacing the conversation's earlier ones.

        Raises:
            StoreError: it could not be written; nothing was.
        """
        with self.writing():
            self._name(conversation, summary.created)
            self._drop_summaries(conversation)
            self._db.execute(
                "INSERT INTO summary VALUES (?, ?, ?, ?, ?, ?)",
                (
                    summary.id,
                    conversation.id,
                    conversation.user,
                    microseconds(summary.created),
                    storable(summary.text),
                    json.dumps(summary.covers),
                ),
            )

    def conversation(self, user: str, conversation: str) -> Conversation:
        """A conversation as stored, without what is hidden.

        Raises:
            StoreError: the file can't be read.
        """
        with self._lock, explained(self._path):
            return self._load(user, conversation)

    def exchange_ids(self, user: str) -> set[str]:
        """The ids of all stored exchanges of a user that are not hidden.

        Raises:
            StoreError: the file can't be read.
        """
        with self._lock, explained(self._path):
            rows = self._db.execute("SELECT id FROM exchange WHERE user = ?", (user,)).fetchall()
            hidden = hidden_rows.hidden_exchanges(self._db, user)
        return {row[0] for row in rows} - hidden

    def hide(self, hidden: HiddenItems) -> None:
        """Record what the user wants forgotten. From now on nothing is derived from it.

        Raises:
            StoreError: it could not be written; nothing was.
        """
        with self.writing():
            asked, due = microseconds(hidden.asked), microseconds(hidden.due)
            hidden_rows.hide(self._db, hidden, asked, due)

    def unhide(self, user: str, key: str) -> None:
        """Undo `hide`. Raises as `hide`."""
        with self.writing():
            hidden_rows.unhide(self._db, user, key)

    def hidden(self, user: str) -> list[HiddenItems]:
        """All that is hidden, oldest first.

        Raises:
            StoreError: the file can't be read.
        """
        with self._lock, explained(self._path):
            rows = hidden_rows.all_hidden(self._db, user)
        return [
            HiddenItems(key, user, time_of(asked), time_of(due), tuple(exchanges), tuple(memories))
            for key, asked, due, exchanges, memories in rows
        ]

    def hiding(self) -> list[str]:
        """The users who have something hidden. Raises as `hidden`."""
        with self._lock, explained(self._path):
            return hidden_rows.users(self._db)

    def held(self, user: str, ids: Collection[str]) -> set[str]:
        """Those of these ids that are stored exchanges of the user, even if hidden. Raises as
        `hidden`."""
        with self._lock, explained(self._path):
            return hidden_rows.held(self._db, user, ids)

    def exchanges(self, user: str, ids: Collection[str]) -> Iterator[tuple[str, Exchange]]:
        """The user's exchanges with these ids, oldest first, each with its conversation's id.

        Raises:
            StoreError: the file can't be read.
        """
        few = tuple(ids) if len(ids) <= hidden_rows.LOOKED_UP else None
        those = f" AND id IN ({', '.join('?' * len(few))})" if few is not None else ""
        with self._lock, explained(self._path):
            rows = self._db.execute(
                f"SELECT {EXCHANGE}, conversation FROM exchange WHERE user = ?{those}"
                " ORDER BY started, rowid",
                (user, *(few or ())),
            ).fetchall()
        for *columns, conversation in rows:
            if columns[0] in ids:
                yield conversation, exchange_of(columns)

    def note_expired(self, user: str, tellings: Iterable[tuple[str, str]], at: datetime) -> None:
        """Record expired memories, as pairs of an exchange and a memory made from it.

        Raises:
            StoreError: it could not be written; nothing was.
        """
        with self.writing():
            suppressions.note(self._db, user, tellings, microseconds(at))

    def expired(self, user: str, now: datetime) -> set[str]:
        """Ids of memories that expired before `now`.

        Raises:
            StoreError: the file can't be read.
        """
        with self._lock, explained(self._path):
            return suppressions.noted(self._db, user, microseconds(now))

    def delete_exchanges(self, user: str, exchange_ids: Collection[str]) -> int:
        """Delete these exchanges of the user, and the summaries that cover one of them; returns how
        many existed. Their words leave the file and its log.

        Raises:
            StoreError: the file can't be written, and nothing was deleted; or everything was, but
                another program keeps the log from being emptied: call it again later.
        """
        ids = list(exchange_ids)
        with self.writing():
            hidden_rows.mark_forgotten(self._db, user, ids, microseconds(datetime.now(UTC)))
            step = hidden_rows.LOOKED_UP
            gone = sum(self._delete(user, ids[i : i + step]) for i in range(0, len(ids), step))
            self._drop_covering(user, frozenset(ids))
        self.rewrite()
        return gone

    def expire(self, user: str, before: datetime, limit: int, but: str = "") -> int:
        """Delete up to `limit` exchanges of conversations that ended before a moment, except the
        conversation `but`; returns how many. Raises as `delete_exchanges`."""
        with self.writing():
            rows = self._db.execute(
                "SELECT id FROM exchange WHERE user = ?1 AND conversation != ?2 AND conversation IN"
                " (SELECT conversation FROM exchange WHERE user = ?1 GROUP BY conversation"
                " HAVING max(ended) < ?3) ORDER BY started LIMIT ?4",
                (user, but, microseconds(before), limit),
            ).fetchall()
            gone = self._delete(user, [row[0] for row in rows]) if rows else 0
            self._drop_covering(user, frozenset(row[0] for row in rows))
        if gone == limit:
            self._empty_log()
        elif gone or self.pages().free:
            self.rewrite()
        return gone

    def rewrite(self) -> None:
        """Rewrite the file, so that it contains nothing deleted, and empty its log. Storing waits
        meanwhile: about 60 ms for ten thousand exchanges. Raises as `delete_exchanges`."""
        with self._lock, explained(self._path):
            vacuum.write_anew(self._db)
        self._empty_log()

    @property
    def path(self) -> Path:
        return self._path

    def pages(self) -> vacuum.FreePages:
        """Raises StoreError: the file can't be read."""
        with self._lock, explained(self._path):
            return vacuum.pages(self._db, self._path)

    def texts(self) -> list[str]:
        """All texts of all users. Raises StoreError: the file can't be read."""
        with self._lock, explained(self._path):
            return list(vacuum.texts(self._db))

    def _empty_log(self) -> None:
        with self._lock, explained(self._path):
            (busy, *_) = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreError(
                f"The log of the transcript {self._path} still contains forgotten words: another"
                " program is reading it.",
                mend="Close the other program, and forget them again.",
            )

    def close(self) -> None:
        """Idempotent. Moves what was stored from the log into the file."""
        with self._lock:
            self._db.close()

    # -- inside ---------------------------------------------------------------------------------

    def _name(self, conversation: Conversation, started: datetime) -> None:
        self._db.execute(
            "INSERT OR IGNORE INTO conversation VALUES (?, ?, ?)",
            (conversation.id, conversation.user, microseconds(started)),
        )

    def _drop_summaries(self, conversation: Conversation) -> None:
        self._db.execute(
            "DELETE FROM summary WHERE user = ? AND conversation = ?",
            (conversation.user, conversation.id),
        )

    def _delete(self, user: str, exchange_ids: Sequence[str]) -> int:
        marks = ", ".join("?" * len(exchange_ids))
        where = f"WHERE user = ? AND id IN ({marks})"
        return self._db.execute(f"DELETE FROM exchange {where}", (user, *exchange_ids)).rowcount

    def _drop_covering(self, user: str, exchange_ids: frozenset[str]) -> None:
        """Delete the summaries of these exchanges, and conversations that are now empty."""
        rows = self._db.execute("SELECT id, covers FROM summary WHERE user = ?", (user,)).fetchall()
        for key, covers in rows:
            if not exchange_ids.isdisjoint(json.loads(covers)):
                self._db.execute("DELETE FROM summary WHERE user = ? AND id = ?", (user, key))
        empty = "NOT IN (SELECT conversation FROM exchange)"
        self._db.execute(f"DELETE FROM summary WHERE user = ? AND conversation {empty}", (user,))
        self._db.execute(f"DELETE FROM conversation WHERE user = ? AND id {empty}", (user,))

    def _load(self, user: str, conversation: str) -> Conversation:
        rows = self._db.execute(
            f"SELECT {EXCHANGE} FROM exchange"
            " WHERE user = ? AND conversation = ? ORDER BY turn, started, rowid",
            (user, conversation),
        ).fetchall()
        hidden = hidden_rows.hidden_exchanges(self._db, user)
        exchanges = [exchange_of(row) for row in rows if row[0] not in hidden]
        last = self._db.execute(
            "SELECT id, text, covers, created FROM summary WHERE user = ? AND conversation = ?"
            " ORDER BY created DESC, rowid DESC LIMIT 1",
            (user, conversation),
        ).fetchone()
        summary = (
            Summary(last[0], last[1], tuple(json.loads(last[2])), time_of(last[3]))
            if last
            else None
        )
        if summary is not None and not hidden.isdisjoint(summary.covers):
            summary = None
        return Conversation(conversation, user, exchanges, summary)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Access for modules with their own tables in this file."""
        with self._lock, explained(self._path):
            yield self._db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Like `reading`, in one transaction: all or nothing."""
        with self._lock, explained(self._path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
