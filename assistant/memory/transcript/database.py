"""The transcript, in SQLite: what the user said, and which parts of the answers the user heard.

An exchange is stored when `store` returns. With WAL and `synchronous=NORMAL`, the operating system
has the data by that time, so killing the process loses nothing. A power cut may lose the last
exchanges, but never the file. (`FULL` syncs at each commit, which exceeds the 5 ms budget on slow
disks.)

Calls block for about a millisecond; on an event loop use `asyncio.to_thread`. Thread-safe.
"""

import json
import os
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assistant.context import Conversation, Exchange, Summary
from assistant.encryption import BUSY_S, MasterKey, connect_sqlite
from assistant.errors import StoreError
from assistant.events import Latency, MemoryUsed
from assistant.memory.records.data_location import DataLocation
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.stored_values import microseconds, storable, time_of
from assistant.memory.transcript import recall_log
from assistant.memory.transcript.conversation_recordings import Recordings
from assistant.memory.transcript.migrations import migrate
from assistant.memory.transcript.rows import (
    EXCHANGE,
    LOOKED_UP,
    delete_exchanges,
    exchange_of,
    held,
    hidden_exchanges,
    name_conversation,
    places,
    stored_conversation,
    suppress,
)
from assistant.memory.transcript.sqlite_errors import explained
from assistant.paths import Home

AT_ONCE = 100
"""Maximum number of rows that non-urgent work changes in one transaction. Such a transaction may
delay the storing of an exchange by a few milliseconds."""


@dataclass(frozen=True, slots=True)
class FreePages:
    """`free` is the number of unused pages in the file. `log` is the length of the write-ahead log
    in bytes."""

    free: int
    log: int


class Transcript:
    """One file with the transcripts of any number of users. Every query names the user.

    Every method may raise StoreError if the file can't be read or written. In that case nothing has
    changed, unless stated otherwise.
    """

    def __init__(self, db: sqlite3.Connection, path: Path, key: MasterKey | None = None) -> None:
        self._db = db
        self.path = path
        self.recordings = Recordings(Home(path.parent).recordings, key)
        self.locations: list[DataLocation] = [self.recordings]
        """Other places that contain words of exchanges. Each adds itself to this list."""
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path, key: MasterKey | None = None) -> "Transcript":
        """Open or create the file, readable by its owner only, and migrate its schema.

        Args:
            key: the key of an encrypted transcript.

        Raises:
            StoreError: the file can't be opened or written, is damaged, or has a newer version.
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

    @classmethod
    def in_ram(cls) -> "Transcript":
        """Create a transcript that is never written to disk."""
        path = Path(":memory:")
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA foreign_keys = ON")
        migrate(db, path)
        return cls(db, path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give access to the database, for modules with their own tables in this file."""
        with self._lock, explained(self.path):
            yield self._db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give access like `reading`, in one transaction. If the block raises, nothing is
        changed."""
        with self.reading() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file, after moving the contents of its log into it. May be called
        repeatedly."""
        with self._lock:
            self._db.close()

    # -- conversations --------------------------------------------------------------------------

    def resume(
        self, user: str, within: timedelta, now: datetime | None = None
    ) -> Conversation | None:
        """Return the user's last conversation if it ended at most `within` ago. An end at most
        `within` in the future counts too, because the clock may have been set back."""
        with self.reading() as db:
            row = db.execute(
                "SELECT conversation, ended FROM exchange WHERE user = ?"
                " ORDER BY ended DESC, rowid DESC LIMIT 1",
                (user,),
            ).fetchone()
            if row is None or abs((now or datetime.now(UTC)) - time_of(row[1])) > within:
                return None
            return stored_conversation(db, user, row[0])

    def store(
        self,
        conversation: Conversation,
        exchange: Exchange,
        latency: Latency | None = None,
        memories: Sequence[MemoryUsed] = (),
        near_misses: Sequence[tuple[str, float, str]] = (),
    ) -> bool:
        """Store a complete exchange. Storing it again changes nothing. Returns False if the
        exchange was forgotten and so must not be stored.

        Raises:
            ValueError: the exchange has not ended.
        """
        if exchange.ended is None:
            raise ValueError("an open exchange can't be stored")
        times: Mapping[str, float | None] = asdict(latency) if latency is not None else {}
        with self.writing() as db:
            query = "SELECT 1 FROM forgotten WHERE exchange = ?"
            if db.execute(query, (exchange.id,)).fetchone() is not None:
                return False
            name_conversation(db, conversation, exchange.started)
            db.execute(
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
                    recall_log.to_json(memories, near_misses),
                ),
            )
        return True

    def store_summary(self, conversation: Conversation, summary: Summary) -> None:
        """Store a summary, which replaces the conversation's earlier ones."""
        talk = (conversation.user, conversation.id)
        with self.writing() as db:
            name_conversation(db, conversation, summary.created)
            db.execute("DELETE FROM summary WHERE user = ? AND conversation = ?", talk)
            db.execute(
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

    # -- exchanges ------------------------------------------------------------------------------

    def exchange_ids(self, user: str) -> set[str]:
        """Return the ids of a user's stored exchanges that are not hidden."""
        with self.reading() as db:
            found = db.execute("SELECT id FROM exchange WHERE user = ?", (user,))
            return {row[0] for row in found} - hidden_exchanges(db, user)

    def held(self, user: str, ids: Collection[str]) -> set[str]:
        """Return which of the ids belong to stored exchanges of the user, including hidden ones."""
        with self.reading() as db:
            return held(db, user, ids)

    def exchanges(self, user: str, ids: Collection[str]) -> Iterator[tuple[str, Exchange]]:
        """Yield the user's exchanges with these ids, oldest first, each with the id of its
        conversation."""
        few = tuple(ids) if len(ids) <= LOOKED_UP else None
        those = f" AND id IN ({places(few)})" if few is not None else ""
        with self.reading() as db:
            found = db.execute(
                f"SELECT {EXCHANGE}, conversation FROM exchange WHERE user = ?{those}"
                " ORDER BY started, rowid",
                (user, *(few or ())),
            ).fetchall()
        for *columns, conversation in found:
            if columns[0] in ids:
                yield conversation, exchange_of(columns)

    def before(self, user: str, exchange: Exchange, count: int) -> list[Exchange]:
        """Return up to `count` exchanges just before this one in its conversation, oldest first.
        Hidden ones are left out."""
        with self.reading() as db:
            hidden = hidden_exchanges(db, user)
            found = db.execute(
                f"SELECT {EXCHANGE} FROM exchange WHERE user = ?1 AND started < ?2 AND conversation"
                " = (SELECT conversation FROM exchange WHERE id = ?3)"
                " ORDER BY started DESC, rowid DESC LIMIT ?4",
                (user, microseconds(exchange.started), exchange.id, count + len(hidden)),
            ).fetchall()
        shown = [exchange_of(row) for row in found if row[0] not in hidden]
        return shown[:count][::-1]

    # -- forgetting -----------------------------------------------------------------------------

    def hide(self, hidden: HiddenItems) -> None:
        """Record what the user wants forgotten. From then on, nothing is derived from it."""
        row = (
            hidden.id,
            hidden.user,
            microseconds(hidden.asked),
            microseconds(hidden.due),
            json.dumps(hidden.exchanges),
            json.dumps(hidden.memories),
        )
        with self.writing() as db:
            db.execute("INSERT OR REPLACE INTO hidden VALUES (?, ?, ?, ?, ?, ?)", row)

    def unhide(self, user: str, key: str) -> None:
        """Show the hidden items with this id again."""
        with self.writing() as db:
            db.execute("DELETE FROM hidden WHERE user = ? AND id = ?", (user, key))

    def hidden(self, user: str) -> list[HiddenItems]:
        """Return all items that the user has hidden, oldest first."""
        with self.reading() as db:
            found = db.execute(
                "SELECT id, asked, due, exchanges, memories FROM hidden WHERE user = ?"
                " ORDER BY asked, rowid",
                (user,),
            ).fetchall()
        return [
            HiddenItems(
                *(key, user, time_of(asked), time_of(due)),
                *(tuple(json.loads(ids)) for ids in (exchanges, memories)),
            )
            for key, asked, due, exchanges, memories in found
        ]

    def hiding(self) -> list[str]:
        """Return the users who have hidden items."""
        with self.reading() as db:
            found = db.execute("SELECT DISTINCT user FROM hidden ORDER BY user").fetchall()
        return [row[0] for row in found]

    def note_expired(self, user: str, tellings: Iterable[tuple[str, str]], at: datetime) -> None:
        """Record that memories expired. Each pair in `tellings` consists of the id of an exchange
        and the id of a memory derived from it."""
        with self.writing() as db:
            suppress(db, user, tellings, microseconds(at))

    def expired(self, user: str, now: datetime) -> set[str]:
        """Return the ids of memories that expired by `now`. Records with a later time are ignored,
        because the clock was wrong when they were made."""
        query = "SELECT memory FROM expired WHERE user = ? AND at <= ?"
        with self.reading() as db:
            return {row[0] for row in db.execute(query, (user, microseconds(now)))}

    def delete_exchanges(self, user: str, exchange_ids: Collection[str]) -> int:
        """Delete exchanges of the user, and the summaries that cover one of them; return how many
        of the exchanges existed. Their words are removed from the file and its log.

        Raises:
            StoreError: nothing was deleted; or everything was deleted, but another program keeps
                the log from being emptied. In the second case, call this again later.
        """
        now = microseconds(datetime.now(UTC))
        with self.writing() as db:
            db.executemany(
                "INSERT OR IGNORE INTO forgotten VALUES (?, ?, ?)",
                [(key, user, now) for key in exchange_ids],
            )
            gone = delete_exchanges(db, user, exchange_ids)
        self.rewrite()
        return gone

    def expire(self, user: str, before: datetime, limit: int, but: str = "") -> int:
        """Delete up to `limit` exchanges of conversations that ended before the time `before`,
        except those of the conversation `but`; return how many were deleted. Raises StoreError if
        the file can't be changed or its log can't be emptied."""
        with self.writing() as db:
            found = db.execute(
                "SELECT id FROM exchange WHERE user = ?1 AND conversation != ?2 AND conversation IN"
                " (SELECT conversation FROM exchange WHERE user = ?1 GROUP BY conversation"
                " HAVING max(ended) < ?3) ORDER BY started LIMIT ?4",
                (user, but, microseconds(before), limit),
            ).fetchall()
            gone = delete_exchanges(db, user, [row[0] for row in found])
        if gone == limit:
            self._empty_log()
        elif gone or self.pages().free:
            self.rewrite()
        return gone

    # -- the file -------------------------------------------------------------------------------

    def rewrite(self) -> None:
        """Rewrite the file so that it contains no deleted data, and empty its log. Raises
        StoreError if another program keeps the log from being emptied; in that case, call this
        again later.

        This is needed because `secure_delete` overwrites deleted rows, but not the copies that
        remain when rows move between pages. `connect_sqlite` makes sure that no temporary file is
        used. Storing an exchange has to wait until the file is rewritten, which takes about 60 ms
        with ten thousand exchanges.
        """
        with self.reading() as db:
            db.execute("VACUUM")
        self._empty_log()

    def pages(self) -> FreePages:
        log = self.path.with_name(f"{self.path.name}-wal")
        with self.reading() as db:
            (free,) = db.execute("PRAGMA freelist_count").fetchone()
            return FreePages(int(free), log.stat().st_size if log.exists() else 0)

    def texts(self) -> list[str]:
        """Return all texts in all rows of all tables, of all users."""
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
        with self.reading() as db:
            names = [row[0].replace('"', '""') for row in db.execute(query)]
            rows = (row for name in names for row in db.execute(f'SELECT * FROM "{name}"'))
            return [value for row in rows for value in row if isinstance(value, str)]

    def _empty_log(self) -> None:
        with self.reading() as db:
            (busy, *_) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreError(
                f"The log of the transcript {self.path} still contains forgotten words: another"
                " program is reading it.",
                mend="Close the other program, and forget them again.",
            )
