"""The durable queue of idle work: what waits, what was tried how often, what was given up.

Rows of the transcript's file: ids, times and the names of errors, no words. What leaves the
transcript takes its rows along, in the same transaction. The queue may be lost: each kind of work
knows what lacks its output, and fills it again.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from assistant.memory.records.stored_values import microseconds, time_of
from assistant.memory.transcript.exchange_rows import Written
from assistant.memory.transcript.hidden_rows import hidden_exchanges

State = Literal["waiting", "running", "dead"]

BACKOFF = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 180))
"""Until it is tried again after the first failure, the second, …; after one more it is given up."""
CRASHED_ERROR = "Crashed"
"""In place of an exception's name: the process ended in the middle of it."""

_ANEW = "state = 'waiting', attempts = 0, not_before = 0, error = ''"
_ONE = "user = ? AND kind = ? AND subject = ?"


@dataclass(frozen=True, slots=True)
class Batch:
    """Subjects of one kind that are being worked on."""

    kind: str
    subjects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Count:
    kind: str
    state: State
    count: int


@dataclass(frozen=True, slots=True)
class FailedJob:
    """What was given up: `error` is the name of an exception's class."""

    kind: str
    subject: str
    attempts: int
    error: str


def add_tables(db: sqlite3.Connection) -> None:
    """A migration. Times are microseconds since 1970, UTC."""
    db.execute(
        """CREATE TABLE job (
            number INTEGER PRIMARY KEY,
            user TEXT NOT NULL,
            kind TEXT NOT NULL,
            subject TEXT NOT NULL,
            version INTEGER NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'dead')),
            attempts INTEGER NOT NULL,
            not_before INTEGER NOT NULL,
            error TEXT NOT NULL,
            enqueued INTEGER NOT NULL,
            UNIQUE (user, kind, subject)
        ) STRICT"""
    )
    db.execute("CREATE INDEX job_in_turn ON job (user, kind, state, attempts, number)")
    db.execute("CREATE INDEX job_by_subject ON job (user, subject)")
    # A subject may be either, so it can't refer to one of both.
    for table in ("exchange", "conversation"):
        db.execute(
            f"CREATE TRIGGER job_of_{table} AFTER DELETE ON {table} BEGIN"
            " DELETE FROM job WHERE user = OLD.user AND subject = OLD.id; END"
        )
    db.execute("CREATE TABLE idle_pause (user TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT")


class JobQueue:
    """One user's. One process at a time works on it.

    All calls block for about a millisecond; on an event loop use `asyncio.to_thread`. Thread-safe.
    All may raise StoreError, and nothing has changed then.
    """

    def __init__(self, transcript: Written, user: str) -> None:
        self._transcript = transcript
        self._user = user

    # -- at the start ---------------------------------------------------------------------------

    def recover(self, now: datetime) -> int:
        """What an earlier process ended in the middle of counts as failed: it may be what ended
        it. Returns how many."""
        query = "SELECT kind, subject FROM job WHERE user = ? AND state = 'running' ORDER BY number"
        with self._transcript.writing() as db:
            left = db.execute(query, (self._user,)).fetchall()
            for kind, subject in left:
                _fail(db, (self._user, kind, subject), CRASHED_ERROR, _due(now))
        return len(left)

    def keep_only(self, kinds: Sequence[str]) -> None:
        """What no kind of work would take is dropped."""
        places = ", ".join("?" * len(kinds))
        with self._transcript.writing() as db:
            db.execute(
                f"DELETE FROM job WHERE user = ? AND kind NOT IN ({places})", (self._user, *kinds)
            )

    # -- filling --------------------------------------------------------------------------------

    def known(self, kind: str) -> tuple[int, int]:
        """How many of this kind it has, in whatever state; and how many were never tried."""
        with self._transcript.reading() as db:
            row = db.execute(
                "SELECT count(*), count(*) FILTER (WHERE state = 'waiting' AND attempts = 0)"
                " FROM job WHERE user = ? AND kind = ?",
                (self._user, kind),
            ).fetchone()
        return int(row[0]), int(row[1])

    def renew(self, kind: str, version: int) -> int:
        """What was tried with other rules begins anew, what was given up too; returns how many."""
        with self._transcript.writing() as db:
            return db.execute(
                f"UPDATE job SET version = ?3, {_ANEW}"
                " WHERE user = ?1 AND kind = ?2 AND version != ?3",
                (self._user, kind, version),
            ).rowcount

    def add(self, kind: str, version: int, subjects: Sequence[str], now: datetime) -> int:
        """Those that are neither queued nor forgotten; returns how many. One transaction, for which
        storing an exchange may have to wait: long lists are to be added in pieces."""
        at = microseconds(now)
        with self._transcript.writing() as db:
            before = db.total_changes
            db.executemany(
                "INSERT OR IGNORE INTO job (user, kind, subject, version, state, attempts,"
                " not_before, error, enqueued) SELECT ?1, ?2, ?3, ?4, 'waiting', 0, 0, '', ?5"
                " WHERE NOT EXISTS (SELECT 1 FROM forgotten WHERE exchange = ?3)",
                [(self._user, kind, subject, version, at) for subject in subjects],
            )
            return db.total_changes - before

    # -- working --------------------------------------------------------------------------------

    def take(self, limits: Mapping[str, int], now: datetime) -> Batch | None:
        """What is to be done next; None if nothing is due. It counts as begun.

        What has failed before comes by itself, after what has not: so one bad subject does not
        spoil the others'.

        Args:
            limits: by kind, the first to be taken first: how many at once.
        """
        with self._transcript.reading() as db:
            for kind, limit in limits.items():
                found = _fresh(db, self._user, kind, limit) or _again(db, self._user, kind, now)
                if found:
                    break
            else:
                return None
        with self._transcript.writing() as db:
            db.executemany(
                f"UPDATE job SET state = 'running' WHERE {_ONE}", self._keys(kind, found)
            )
        return Batch(kind, tuple(found))

    def done(self, batch: Batch) -> None:
        with self._transcript.writing() as db:
            db.executemany(
                f"DELETE FROM job WHERE {_ONE} AND state = 'running'",
                self._keys(batch.kind, batch.subjects),
            )

    def failed(self, batch: Batch, error: str, now: datetime) -> int:
        """To be tried again later, of several each by itself at once; returns how many are given
        up.

        Args:
            error: the name of an exception's class: its sentence may hold words.
        """
        due = _due(now)
        if len(batch.subjects) > 1:  # which of them it was will be seen
            due[0] = microseconds(now)
        with self._transcript.writing() as db:
            keys = self._keys(batch.kind, batch.subjects)
            return sum(_fail(db, key, error, due) for key in keys)

    def release(self) -> None:
        """What was begun and interrupted waits as before."""
        with self._transcript.writing() as db:
            db.execute(
                "UPDATE job SET state = 'waiting' WHERE user = ? AND state = 'running'",
                (self._user,),
            )

    # -- looking, and what a user may want ------------------------------------------------------

    def counts(self) -> list[Count]:
        """By kind and state, without what is hidden."""
        every = "SELECT kind, state, count(*) FROM job WHERE user = ?1"
        with self._transcript.reading() as db:
            found = db.execute(f"{every} GROUP BY kind, state", (self._user,)).fetchall()
            hidden = db.execute(
                f"{every} AND subject IN (SELECT value FROM hidden, json_each(hidden.exchanges)"
                " WHERE hidden.user = ?1) GROUP BY kind, state",
                (self._user,),
            ).fetchall()
        less = {(kind, state): number for kind, state, number in hidden}
        shown = [Count(kind, state, n - less.get((kind, state), 0)) for kind, state, n in found]
        return [each for each in shown if each.count]

    def dead(self, limit: int) -> list[FailedJob]:
        """What was given up, the newest first, without what is hidden."""
        with self._transcript.reading() as db:
            hidden = hidden_exchanges(db, self._user)
            rows = db.execute(
                "SELECT kind, subject, attempts, error FROM job WHERE user = ? AND state = 'dead'"
                " ORDER BY number DESC LIMIT ?",
                (self._user, limit + len(hidden)),
            ).fetchall()
        return [FailedJob(*row) for row in rows if row[1] not in hidden][:limit]

    def retry(self, kind: str | None = None) -> int:
        """What was given up is tried again; returns how many."""
        with self._transcript.writing() as db:
            return db.execute(
                f"UPDATE job SET {_ANEW}"
                " WHERE user = ?1 AND state = 'dead' AND (?2 IS NULL OR kind = ?2)",
                (self._user, kind),
            ).rowcount

    def paused(self) -> datetime | None:
        """Since when; None if it is not. Outlives the process."""
        query = "SELECT at FROM idle_pause WHERE user = ?"
        with self._transcript.reading() as db:
            row = db.execute(query, (self._user,)).fetchone()
        return time_of(row[0]) if row is not None else None

    def pause(self, now: datetime) -> None:
        values = (self._user, microseconds(now))
        with self._transcript.writing() as db:
            db.execute("INSERT OR IGNORE INTO idle_pause VALUES (?, ?)", values)

    def resume(self) -> None:
        with self._transcript.writing() as db:
            db.execute("DELETE FROM idle_pause WHERE user = ?", (self._user,))

    def _keys(self, kind: str, subjects: Sequence[str]) -> list[tuple[str, str, str]]:
        return [(self._user, kind, subject) for subject in subjects]


# -- inside -------------------------------------------------------------------------------------


def _due(now: datetime) -> list[int]:
    return [microseconds(now + pause) for pause in BACKOFF]


def _fail(
    db: sqlite3.Connection, key: tuple[str, str, str], error: str, due: Sequence[int]
) -> bool:
    """Says whether it is given up.

    Args:
        due: when to try again after the first failure, the second, …; with one more than these it
            is given up.
    """
    row = db.execute(f"SELECT attempts FROM job WHERE {_ONE}", key).fetchone()
    if row is None:  # forgotten meanwhile
        return False
    attempts = int(row[0]) + 1
    dead = attempts > len(due)
    state, not_before = ("dead", 0) if dead else ("waiting", due[attempts - 1])
    db.execute(
        f"UPDATE job SET state = ?, attempts = ?, not_before = ?, error = ? WHERE {_ONE}",
        (state, attempts, not_before, error, *key),
    )
    return dead


def _fresh(db: sqlite3.Connection, user: str, kind: str, limit: int) -> list[str]:
    """Subjects that were never tried, in the order in which they came, without what is hidden."""
    return _shown(
        db,
        user,
        limit,
        "SELECT subject FROM job WHERE user = ? AND kind = ? AND state = 'waiting'"
        " AND attempts = 0 ORDER BY number",
        (user, kind),
    )


def _again(db: sqlite3.Connection, user: str, kind: str, now: datetime) -> list[str]:
    """The one subject that failed before and is due longest, if any. What is to wait for longer
    than any pause was told so by a clock that has been set back since, and waits no more."""
    return _shown(
        db,
        user,
        1,
        "SELECT subject FROM job WHERE user = ? AND kind = ? AND state = 'waiting'"
        " AND attempts > 0 AND NOT not_before BETWEEN ? AND ? ORDER BY not_before, number",
        (user, kind, microseconds(now) + 1, microseconds(now + BACKOFF[-1])),
    )


def _shown(
    db: sqlite3.Connection, user: str, limit: int, query: str, values: tuple[object, ...]
) -> list[str]:
    """The first subjects of a query that are not hidden."""
    hidden = hidden_exchanges(db, user)
    rows = db.execute(f"{query} LIMIT ?", (*values, limit + len(hidden)))
    return [row[0] for row in rows if row[0] not in hidden][:limit]
