"""The transcript: what was said, and what was heard of the answers, in SQLite.

An exchange is on disk when `store` returns. `synchronous=NORMAL` under WAL means that it is in the
operating system's hands from then on: the process may be killed at any moment; only a power cut may
cost the last exchanges, never the file. (`FULL` waits for the disk at each commit, which on slow
ones takes longer than the 5 ms that storing may take.)

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
"""Rows in one transaction of what can wait: a few milliseconds, for which storing an exchange may
have to wait."""


class Transcript:
    """One file, any number of users. Every query names the user."""

    def __init__(self, db: sqlite3.Connection, path: Path, key: MasterKey | None = None) -> None:
        self._db = db
        self._path = path
        self.recordings = Recordings(Home(path.parent).recordings, key)
        self.locations: list[DataLocation] = [self.recordings]
        """What else holds the words of exchanges; whoever keeps such words adds itself here."""
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path, key: MasterKey | None = None) -> "Transcript":
        """Open or make the file, readable by its owner alone, and bring its schema up to date.

        Args:
            key: of an encrypted one.

        Raises:
            StoreError: it can't be opened or written, is damaged, or is of a newer version.
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
        """A new thread. It is on disk from its first exchange on."""
        return Conversation.begin(user)

    def resume(
        self, user: str, within: timedelta, now: datetime | None = None
    ) -> Conversation | None:
        """The user's last thread, if it ended less than `within` ago.

        A clock that was set back counts like one that went on: by the distance.

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
        """Write a complete exchange; storing it again changes nothing. Says whether it may be
        kept: what was forgotten does not come back.

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
        """Write a summary in place of the conversation's earlier ones.

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
        """A thread as it is on the disk, without what is hidden.

        Raises:
            StoreError: the file can't be read.
        """
        with self._lock, explained(self._path):
            return self._load(user, conversation)

    def exchange_ids(self, user: str) -> set[str]:
        """Of everything the user said that is kept, and not hidden.

        Raises:
            StoreError: the file can't be read.
        """
        with self._lock, explained(self._path):
            rows = self._db.execute("SELECT id FROM exchange WHERE user = ?", (user,)).fetchall()
            hidden = hidden_rows.hidden_exchanges(self._db, user)
        return {row[0] for row in rows} - hidden

    def hide(self, hidden: HiddenItems) -> None:
        """Note what the user wants forgotten. From now on nothing is made of it.

        Raises:
            StoreError: it could not be written; nothing was.
        """
        with self.writing():
            asked, due = microseconds(hidden.asked), microseconds(hidden.due)
            hidden_rows.hide(self._db, hidden, asked, due)

    def unhide(self, user: str, key: str) -> None:
        """Take such a note back. Raises as `hide`."""
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
        """Those of the user's exchanges that are kept, hidden ones too. Raises as `hidden`."""
        with self._lock, explained(self._path):
            return hidden_rows.held(self._db, user, ids)

    def exchanges(self, user: str, ids: Collection[str]) -> Iterator[tuple[str, Exchange]]:
        """Those of the user's exchanges, oldest first, each with its conversation's id.

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
        """Note that memories are no longer to be made: pairs of an exchange and a memory of it.

        Raises:
            StoreError: it could not be written; nothing was.
        """
        with self.writing():
            suppressions.note(self._db, user, tellings, microseconds(at))

    def expired(self, user: str, now: datetime) -> set[str]:
        """Ids of such memories, as of now.

        Raises:
            StoreError: the file can't be read.
        """
        with self._lock, explained(self._path):
            return suppressions.noted(self._db, user, microseconds(now))

    def delete_exchanges(self, user: str, exchange_ids: Collection[str]) -> int:
        """Delete those of the user's exchanges, and the summaries that cover one of them; returns
        how many exchanges there were. Their words leave the file, and its log.

        Raises:
            StoreError: the file can't be written, and nothing was deleted; or all was, but another
                program keeps the log from being emptied. Then it is to be called again.
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
        """Delete exchanges of the user's conversations that ended before a moment, the conversation
        `but` excepted; returns how many, at most `limit`. Raises as `delete_exchanges`."""
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
        """Write the file anew, so that nothing is left in it of what was deleted, and empty its
        log. Nothing can be stored meanwhile: some 60 ms for ten thousand exchanges. Raises as
        `delete_exchanges`."""
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
        """All text in all rows, of all users. Raises StoreError: the file can't be read."""
        with self._lock, explained(self._path):
            return list(vacuum.texts(self._db))

    def _empty_log(self) -> None:
        with self._lock, explained(self._path):
            (busy, *_) = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreError(
                f"The log of the transcript {self._path} still holds forgotten words: another"
                " program reads it.",
                mend="Close the other program, and forget them again.",
            )

    def close(self) -> None:
        """Idempotent. What was stored moves from the log into the file."""
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
        """Summaries of these exchanges, and threads of which nothing is left."""
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
        """For modules with tables of their own in this file."""
        with self._lock, explained(self._path):
            yield self._db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The same, in one transaction: all of it or nothing."""
        with self._lock, explained(self._path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
