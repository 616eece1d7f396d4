"""The kinds of idle work, and which job runs next."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from assistant.idle.job import Job
from assistant.memory import AT_ONCE, Batch, JobQueue

FILLED = 1_000
"""Number of subjects of a kind to queue in advance, beyond those already queued."""
IN_A_ROW = 5
"""Number of batches of a kind that fail in succession before the kind is paused: then its model is
at fault, and no subject should be given up because of that."""
BACKOFF_S = 60.0
LONGEST_REST_S = 3_600.0


@dataclass(slots=True)
class _Failing:
    """A kind's failures since its last success; `until` (on the clock) is when its rest ends."""

    batches: int = 0
    until: float = float("-inf")


class Backlog:
    """Chooses and tracks batches. Belongs to the event loop; the queue is called in threads. All
    methods except the properties may raise StoreError.

    Args:
        limit: subjects per batch.
        now: wall time, UTC.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        queue: JobQueue,
        limit: int,
        now: Callable[[], datetime],
        clock: Callable[[], float],
    ) -> None:
        self.waiting = 0
        """How many subjects were waiting, when last counted."""
        self.finished = 0
        """Subjects done in this process."""
        self.taken: Batch | None = None
        """The batch in progress, until its outcome is in the queue."""
        self._jobs = {job.kind: job for job in sorted(jobs, key=lambda job: job.priority)}
        self._queue = queue
        self._limit = limit
        self._now = now
        self._clock = clock
        self._begun = False
        self._in_order = True
        """Whether every job that the queue marks as running really is."""
        self._made = False
        """Whether a batch was done since all kinds were last asked for missing subjects."""
        self._complete: set[str] = set()
        """Kinds of which all missing subjects are queued."""
        self._failing: dict[str, _Failing] = {}

    @property
    def kinds(self) -> tuple[str, ...]:
        """In order of priority."""
        return tuple(self._jobs)

    @property
    def resting(self) -> frozenset[str]:
        """Kinds that are paused because they kept failing."""
        now = self._clock()
        return frozenset(kind for kind, each in self._failing.items() if each.until > now)

    def changed(self) -> None:
        """Report that there may be more missing subjects than known."""
        self._complete.clear()

    async def begin(self) -> None:
        """Put the queue in order. Called once at the start, and after a batch whose outcome is not
        in the queue."""
        if not self._begun:
            await asyncio.to_thread(self._queue.recover, self._now())
            await asyncio.to_thread(self._queue.keep_only, self.kinds)
            for job in self._jobs.values():
                await asyncio.to_thread(self._queue.renew, job.kind, job.version)
            self._begun = True
        await self.release()

    async def next(self, kind: str | None, *, light: bool) -> tuple[Job, Batch] | None:
        """Take the next batch; None if nothing is due.

        Args:
            kind: take only this kind; if None, any.
            light: take only light work.
        """
        resting = self.resting
        jobs = [
            job
            for job in self._jobs.values()
            if kind in (None, job.kind) and job.kind not in resting and (job.light or not light)
        ]
        if not await self._take(jobs) and self._made:
            self._made = False
            self.changed()  # what was done may be input for other kinds
            await self._take(jobs)
        await self._count()
        return (self._jobs[self.taken.kind], self.taken) if self.taken is not None else None

    async def done(self, batch: Batch) -> None:
        await asyncio.to_thread(self._queue.done, batch)
        self.taken, self._in_order = None, True
        self._made = True
        self._failing.pop(batch.kind, None)
        self.finished += len(batch.subjects)
        self.waiting = max(0, self.waiting - len(batch.subjects))

    async def failed(self, batch: Batch, error: str) -> int:
        """Record a failed batch; returns how many of its subjects are given up.

        Args:
            error: the name of the exception's class.
        """
        self._one_more(batch.kind)
        given_up = await asyncio.to_thread(self._queue.failed, batch, error, self._now())
        self.taken, self._in_order = None, True
        await self._count()
        return given_up

    def rest(self, kind: str) -> None:
        """Pause a kind because its store fails, without blaming any subject. Does not raise."""
        self._one_more(kind, least=IN_A_ROW)

    async def release(self) -> None:
        """Put an interrupted batch back in the queue."""
        self.taken = None
        if not self._in_order:
            await asyncio.to_thread(self._queue.release)
            self._in_order = True

    async def retry(self, kind: str | None) -> int:
        """Requeue subjects that were given up, and resume paused kinds; returns how many were
        requeued."""
        self._failing = {each: at for each, at in self._failing.items() if kind not in (None, each)}
        return await asyncio.to_thread(self._queue.retry, kind)

    # -- internals ------------------------------------------------------------------------------

    def _one_more(self, kind: str, least: int = 0) -> None:
        """Count a failure; pause the kind if there are too many."""
        failing = self._failing.setdefault(kind, _Failing())
        failing.batches = max(failing.batches + 1, least)
        if (over := failing.batches - IN_A_ROW) >= 0:
            failing.until = self._clock() + min(BACKOFF_S * 2 ** min(over, 10), LONGEST_REST_S)

    async def _take(self, jobs: Sequence[Job]) -> bool:
        """Take the next batch; returns whether there is one."""
        for job in jobs:
            if job.kind not in self._complete:
                await self._fill(job)
        limits = {job.kind: 1 if job.kind in self._failing else self._limit for job in jobs}
        self._in_order = False  # the thread completes even if this coroutine is cancelled
        self.taken = await asyncio.to_thread(self._queue.take, limits, self._now())
        self._in_order = self.taken is None
        return self.taken is not None

    async def _fill(self, job: Job) -> None:
        """Queue missing subjects once fewer are left than a batch holds."""
        known, fresh = await asyncio.to_thread(self._queue.known, job.kind)
        if fresh >= self._limit:
            return
        wanted = known + FILLED  # queued subjects count as missing too
        missing = await job.missing(wanted)
        for start in range(0, len(missing), AT_ONCE):
            part = missing[start : start + AT_ONCE]
            await asyncio.to_thread(self._queue.add, job.kind, job.version, part, self._now())
        if len(missing) < wanted and not job.recurs:
            self._complete.add(job.kind)

    async def _count(self) -> None:
        counts = await asyncio.to_thread(self._queue.counts)
        self.waiting = sum(each.count for each in counts if each.state != "dead")
