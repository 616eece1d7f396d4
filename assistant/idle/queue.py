"""The durable queue of idle work: what waits, what was tried how often, what was given up.

It lies in the transcript's file and holds ids alone. It may be lost: each kind of work knows what
lacks its output, and fills it again. All calls block for about a millisecond; on an event loop use
`asyncio.to_thread`. Thread-safe. All may raise StoreError, and nothing has changed then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from assistant.memory.transcript import job_rows
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.exchange_rows import microseconds, time_of
from assistant.memory.transcript.job_rows import FailedJob, State

BACKOFF = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 180))
"""Until it is tried again after the first failure, the second, …; after one more it is given up."""
CRASHED_ERROR = "Crashed"
"""In place of an exception's name: the process ended in the middle of it."""
AT_ONCE = 100
"""Rows in one transaction: storing an exchange may have to wait for it."""


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


class JobQueue:
    """One user's, in the transcript's file. One process at a time works on it."""

    def __init__(self, transcript: Transcript, user: str) -> None:
        self._transcript = transcript
        self._user = user

    # -- at the start ---------------------------------------------------------------------------

    def recover(self, now: datetime) -> int:
        """What an earlier process ended in the middle of counts as failed: it may be what ended
        it. Returns how many."""
        with self._transcript.writing() as db:
            left = job_rows.running(db, self._user)
            for kind, subject in left:
                job_rows.fail(db, self._user, kind, [subject], CRASHED_ERROR, _due(now))
        return len(left)

    def keep_only(self, kinds: Sequence[str]) -> None:
        """What no kind of work would take is dropped."""
        with self._transcript.writing() as db:
            job_rows.drop_other_kinds(db, self._user, kinds)

    # -- filling --------------------------------------------------------------------------------

    def known(self, kind: str) -> tuple[int, int]:
        """How many of this kind it has, in whatever state; and how many were never tried."""
        with self._transcript.reading() as db:
            return job_rows.count(db, self._user, kind)

    def renew(self, kind: str, version: int) -> int:
        """What was tried with other rules begins anew, what was given up too; returns how many."""
        with self._transcript.writing() as db:
            return job_rows.renew(db, self._user, kind, version)

    def add(self, kind: str, version: int, subjects: Sequence[str], now: datetime) -> int:
        """Those that are neither queued nor forgotten; returns how many. Long lists are to be added
        in pieces of `AT_ONCE`."""
        with self._transcript.writing() as db:
            at = microseconds(now)
            return job_rows.add(db, self._user, kind, version, subjects, at)

    # -- working --------------------------------------------------------------------------------

    def take(self, limits: Mapping[str, int], now: datetime) -> Batch | None:
        """What is to be done next; None if nothing is due. It counts as begun.

        What has failed before comes by itself, after what has not: so one bad subject does not
        spoil the others'.

        Args:
            limits: by kind, the first to be taken first: how many at once.
        """
        at, latest = microseconds(now), microseconds(now + BACKOFF[-1])
        with self._transcript.reading() as db:
            for kind, limit in limits.items():
                found = job_rows.fresh(db, self._user, kind, limit)
                found = found or job_rows.again(db, self._user, kind, at, latest)
                if found:
                    break
            else:
                return None
        with self._transcript.writing() as db:
            job_rows.begin(db, self._user, kind, found)
        return Batch(kind, tuple(found))

    def done(self, batch: Batch) -> None:
        with self._transcript.writing() as db:
            job_rows.finish(db, self._user, batch.kind, batch.subjects)

    def failed(self, batch: Batch, error: str, now: datetime) -> int:
        """To be tried again later, of several each by itself at once; returns how many are given
        up.

        Args:
            error: the name of an exception's class: its sentence may hold words.
        """
        with self._transcript.writing() as db:
            due = _due(now)
            if len(batch.subjects) > 1:  # which of them it was will be seen
                due[0] = microseconds(now)
            return job_rows.fail(db, self._user, batch.kind, batch.subjects, error, due)

    def release(self) -> None:
        """What was begun and interrupted waits as before."""
        with self._transcript.writing() as db:
            job_rows.release(db, self._user)

    # -- looking, and what a user may want ------------------------------------------------------

    def counts(self) -> list[Count]:
        """By kind and state, without what is hidden."""
        with self._transcript.reading() as db:
            return [Count(*row) for row in job_rows.counts(db, self._user)]

    def dead(self, limit: int) -> list[FailedJob]:
        """What was given up, the newest first."""
        with self._transcript.reading() as db:
            return job_rows.dead(db, self._user, limit)

    def retry(self, kind: str | None = None) -> int:
        """What was given up is tried again; returns how many."""
        with self._transcript.writing() as db:
            return job_rows.revive(db, self._user, kind)

    def paused(self) -> datetime | None:
        """Since when; None if it is not. Outlives the process."""
        with self._transcript.reading() as db:
            at = job_rows.paused(db, self._user)
        return time_of(at) if at is not None else None

    def pause(self, now: datetime) -> None:
        with self._transcript.writing() as db:
            job_rows.pause(db, self._user, microseconds(now))

    def resume(self) -> None:
        with self._transcript.writing() as db:
            job_rows.resume(db, self._user)


def _due(now: datetime) -> list[int]:
    return [microseconds(now + pause) for pause in BACKOFF]
