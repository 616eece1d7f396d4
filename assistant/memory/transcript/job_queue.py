"""The durable queue of idle work: jobs that are waiting, are running, or have failed for good.

The queue is a table in the transcript's file. It contains ids, times and names of errors, but no
user text. Deleting an exchange deletes, in the same transaction, the jobs whose subject is this
exchange or a span of turns of its conversation. Losing the queue does no harm: each kind of work
finds the subjects that lack its output, and queues them again.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from assistant.memory.records.ids import SUMMARY
from assistant.memory.records.stored_values import microseconds, time_of
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.rows import places

State = Literal["waiting", "running", "dead"]

BACKOFF = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 180))
"""Pauses after a job's first, second, third and fourth failure. After one more failure, the job is
marked as failed for good."""
CRASHED_ERROR = "Crashed"
"""Stored in place of an exception's name if the process died during the job."""

_ANEW = "state = 'waiting', attempts = 0, not_before = 0, error = ''"
_ONE = "user = ? AND kind = ? AND subject = ?"
_HIDDEN = "SELECT value FROM hidden, json_each(hidden.exchanges) WHERE hidden.user = ?1"
_SHOWN = (
    f"subject NOT IN ({_HIDDEN}) AND substr(subject, 1, instr(subject, '-{SUMMARY}') - 1)"
    f" NOT IN (SELECT conversation FROM exchange WHERE id IN ({_HIDDEN}))"
)
"""Whether a job's subject is neither a hidden exchange nor a span of a conversation with a hidden
exchange."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The subjects of jobs of one kind that are processed together."""

    kind: str
    subjects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """The number of jobs of one kind in one state."""

    kind: str
    state: State
    count: int


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A job that has failed for good. `error` is the name of the last exception's class."""

    kind: str
    subject: str
    attempts: int
    error: str


class JobQueue:
    """One user's job queue, used by one process at a time. Thread-safe.

    Each call blocks for about a millisecond, so use `asyncio.to_thread` on an event loop. Each call
    may raise StoreError. A call that raises StoreError has changed nothing.
    """

    def __init__(self, transcript: Transcript, user: str) -> None:
        self._transcript = transcript
        self._user = user

    # -- at the start ---------------------------------------------------------------------------

    def recover(self, now: datetime) -> int:
        """Record a failure of each job that an earlier process left running, since the job may have
        killed the process. Return the number of these jobs."""
        query = "SELECT kind, subject FROM job WHERE user = ? AND state = 'running' ORDER BY number"
        with self._transcript.writing() as db:
            left = db.execute(query, (self._user,)).fetchall()
            for kind, subject in left:
                _fail(db, (self._user, kind, subject), CRASHED_ERROR, _due(now))
        return len(left)

    def keep_only(self, kinds: Sequence[str]) -> None:
        """Delete all jobs whose kind is not in `kinds`."""
        with self._transcript.writing() as db:
            db.execute(
                f"DELETE FROM job WHERE user = ? AND kind NOT IN ({places(kinds)})",
                (self._user, *kinds),
            )

    # -- filling --------------------------------------------------------------------------------

    def known(self, kind: str) -> tuple[int, int]:
        """Return the number of jobs of this kind in any state, and the number of those that were
        never tried."""
        with self._transcript.reading() as db:
            row = db.execute(
                "SELECT count(*), count(*) FILTER (WHERE state = 'waiting' AND attempts = 0)"
                " FROM job WHERE user = ? AND kind = ?",
                (self._user, kind),
            ).fetchone()
        return int(row[0]), int(row[1])

    def renew(self, kind: str, version: int) -> int:
        """Restart all jobs of this kind that have another version, including those that failed for
        good. Return the number of jobs restarted."""
        with self._transcript.writing() as db:
            return db.execute(
                f"UPDATE job SET version = ?3, {_ANEW}"
                " WHERE user = ?1 AND kind = ?2 AND version != ?3",
                (self._user, kind, version),
            ).rowcount

    def add(self, kind: str, version: int, subjects: Sequence[str], now: datetime) -> int:
        """Queue the subjects that are not queued yet and were not forgotten. Return their number.

        Add long lists in pieces, because storing an exchange may have to wait for this transaction.
        """
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
        """Start and return the next batch; return None if no job is ready to run.

        Jobs that failed before come last and one at a time, so that one bad subject does not make
        other jobs fail.

        Args:
            limits: the maximum number of subjects per batch, by kind, in order of priority.
        """
        with self._transcript.reading() as db:
            for kind, limit in limits.items():
                if found := _next(db, self._user, kind, limit, now):
                    break
            else:
                return None
        with self._transcript.writing() as db:
            db.executemany(
                f"UPDATE job SET state = 'running' WHERE {_ONE}", self._keys(kind, found)
            )
        return Batch(kind, tuple(found))

    def done(self, batch: Batch) -> None:
        """Delete the jobs of a completed batch."""
        with self._transcript.writing() as db:
            db.executemany(
                f"DELETE FROM job WHERE {_ONE} AND state = 'running'",
                self._keys(batch.kind, batch.subjects),
            )

    def failed(self, batch: Batch, error: str, now: datetime) -> int:
        """Record the failure of a batch and schedule retries. Return the number of its jobs that
        have now failed for good.

        If the batch has several subjects, they are retried one by one, without a pause.

        Args:
            error: the name of the exception's class. Don't pass the exception's message, which may
                contain the user's words.
        """
        due = _due(now)
        if len(batch.subjects) > 1:  # the retries will show which one failed
            due[0] = microseconds(now)
        with self._transcript.writing() as db:
            keys = self._keys(batch.kind, batch.subjects)
            return sum(_fail(db, key, error, due) for key in keys)

    def release(self) -> None:
        """Return all running jobs to the queue, because they were interrupted."""
        with self._transcript.writing() as db:
            db.execute(
                "UPDATE job SET state = 'waiting' WHERE user = ? AND state = 'running'",
                (self._user,),
            )

    # -- inspection and control -----------------------------------------------------------------

    def counts(self) -> list[Count]:
        """Return the number of jobs of each kind and state. Hidden subjects are not counted."""
        query = f"SELECT kind, state, count(*) FROM job WHERE user = ?1 AND {_SHOWN}"
        with self._transcript.reading() as db:
            found = db.execute(f"{query} GROUP BY kind, state", (self._user,)).fetchall()
        return [Count(*row) for row in found]

    def dead(self, limit: int) -> list[FailedJob]:
        """Return up to `limit` jobs that have failed for good, newest first. Jobs with hidden
        subjects are left out."""
        with self._transcript.reading() as db:
            found = db.execute(
                "SELECT kind, subject, attempts, error FROM job WHERE user = ?1 AND state = 'dead'"
                f" AND {_SHOWN} ORDER BY number DESC LIMIT ?2",
                (self._user, limit),
            ).fetchall()
        return [FailedJob(*row) for row in found]

    def retry(self, kind: str | None = None) -> int:
        """Requeue all jobs that have failed for good. Return their number.

        Args:
            kind: retry only jobs of this kind; None means all kinds.
        """
        with self._transcript.writing() as db:
            return db.execute(
                f"UPDATE job SET {_ANEW}"
                " WHERE user = ?1 AND state = 'dead' AND (?2 IS NULL OR kind = ?2)",
                (self._user, kind),
            ).rowcount

    def paused(self) -> datetime | None:
        """Return the time at which the user paused idle work; None if it is not paused. A pause
        survives restarts."""
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
    """Record a job's failure. Return whether the job has now failed for good.

    Args:
        key: the job's user, kind and subject.
        due: the times at which to retry after the first, second, … failure, in microseconds since
            1970. The failure after these is final.
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


def _next(db: sqlite3.Connection, user: str, kind: str, limit: int, now: datetime) -> list[str]:
    """Return up to `limit` subjects that were never tried, in the order in which they were queued.
    If there are none, return the failed subject whose retry time passed first.

    A retry time further ahead than the longest pause means that the clock has been set back. A
    subject with such a time is retried immediately.
    """
    waiting = (
        f"SELECT subject FROM job WHERE user = ?1 AND kind = ?2 AND state = 'waiting' AND {_SHOWN}"
    )
    fresh = f"{waiting} AND attempts = 0 ORDER BY number LIMIT ?3"
    again = (
        f"{waiting} AND attempts > 0 AND NOT not_before BETWEEN ?3 AND ?4"
        " ORDER BY not_before, number LIMIT 1"
    )
    times = (microseconds(now) + 1, microseconds(now + BACKOFF[-1]))
    found = db.execute(fresh, (user, kind, limit)).fetchall()
    found = found or db.execute(again, (user, kind, *times)).fetchall()
    return [row[0] for row in found]
