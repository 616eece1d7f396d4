"""Selects the next batch of idle work, and records the outcome of each batch. A batch consists of
subjects, e.g. ids of exchanges (see `Job.missing`)."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from assistant.idle.job import Job
from assistant.memory import AT_ONCE, Batch, JobQueue

FILLED = 1_000
"""Number of subjects of a kind to queue in advance, beyond those already queued."""
IN_A_ROW = 5
"""Number of consecutive failed batches after which a kind is paused. That many failures are
probably caused by the model, so no subject should be marked as failed for good."""
BACKOFF_S = 60.0
LONGEST_REST_S = 3_600.0


@dataclass(slots=True)
class _Failing:
    """The failed batches of a kind since its last success. The kind is paused until `until`, a time
    on the clock."""

    batches: int = 0
    until: float = float("-inf")


class Backlog:
    """Selects batches and records their outcomes. Use it on the event loop; it calls the queue in
    threads. All methods may raise StoreError, except for `changed` and `rest`.

    Args:
        limit: maximum number of subjects per batch.
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
        """Number of subjects that were waiting when the queue was last counted."""
        self.finished = 0
        """Number of subjects completed in this process."""
        self.taken: Batch | None = None
        """The batch in progress, until its outcome is stored in the queue."""
        self._jobs = {job.kind: job for job in sorted(jobs, key=lambda job: job.priority)}
        self._queue = queue
        self._limit = limit
        self._now = now
        self._clock = clock
        self._begun = False
        self._in_order = True
        """Whether it is certain that the queue marks no batch as running. If False, the next
        `release` requeues the batch."""
        self._made = False
        """Whether a batch was completed since all kinds were last asked for missing subjects."""
        self._complete: set[str] = set()
        """Kinds whose missing subjects are all queued."""
        self._failing: dict[str, _Failing] = {}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of work, by priority."""
        return tuple(self._jobs)

    @property
    def resting(self) -> frozenset[str]:
        """The kinds that are paused because they kept failing."""
        now = self._clock()
        return frozenset(kind for kind, each in self._failing.items() if each.until > now)

    def changed(self) -> None:
        """Report that there may be new subjects that are not in the queue yet."""
        self._complete.clear()

    async def begin(self) -> None:
        """Correct the state of the queue. Call this before each batch: the first call recovers from
        the end of the last process, and later calls requeue a batch whose outcome is not stored."""
        if not self._begun:
            await asyncio.to_thread(self._queue.recover, self._now())
            await asyncio.to_thread(self._queue.keep_only, self.kinds)
            for job in self._jobs.values():
                await asyncio.to_thread(self._queue.renew, job.kind, job.version)
            self._begun = True
        await self.release()

    async def next(self, kind: str | None, *, light: bool) -> tuple[Job, Batch] | None:
        """Take the next batch from the queue. Return None if no work is due.

        Args:
            kind: the kind of batch to take; None for any kind.
            light: whether to take only light work.
        """
        resting = self.resting
        jobs = [
            job
            for job in self._jobs.values()
            if kind in (None, job.kind) and job.kind not in resting and (job.light or not light)
        ]
        if not await self._take(jobs) and self._made:
            self._made = False
            self.changed()  # finished work may be input for other kinds
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
        """Record a failed batch. Return the number of its subjects that are now marked as failed
        for good.

        Args:
            error: the name of the exception's class.
        """
        self._one_more(batch.kind)
        given_up = await asyncio.to_thread(self._queue.failed, batch, error, self._now())
        self.taken, self._in_order = None, True
        await self._count()
        return given_up

    def rest(self, kind: str) -> None:
        """Pause a kind because its store failed. This is not counted as a failure of any subject.
        Does not raise."""
        self._one_more(kind, least=IN_A_ROW)

    async def release(self) -> None:
        """Put an interrupted batch back in the queue."""
        self.taken = None
        if not self._in_order:
            await asyncio.to_thread(self._queue.release)
            self._in_order = True

    async def retry(self, kind: str | None) -> int:
        """Requeue subjects that are marked as failed for good, and resume paused kinds. Return the
        number of requeued subjects."""
        self._failing = {each: at for each, at in self._failing.items() if kind not in (None, each)}
        return await asyncio.to_thread(self._queue.retry, kind)

    # -- internals ------------------------------------------------------------------------------

    def _one_more(self, kind: str, least: int = 0) -> None:
        """Count a failure of a kind, and pause the kind if it has failed too often."""
        failing = self._failing.setdefault(kind, _Failing())
        failing.batches = max(failing.batches + 1, least)
        if (over := failing.batches - IN_A_ROW) >= 0:
            failing.until = self._clock() + min(BACKOFF_S * 2 ** min(over, 10), LONGEST_REST_S)

    async def _take(self, jobs: Sequence[Job]) -> bool:
        """Take the next batch of these jobs from the queue. Return whether there is one."""
        for job in jobs:
            if job.kind not in self._complete:
                await self._fill(job)
        limits = {job.kind: 1 if job.kind in self._failing else self._limit for job in jobs}
        self._in_order = False  # the thread completes even if this coroutine is cancelled
        self.taken = await asyncio.to_thread(self._queue.take, limits, self._now())
        self._in_order = self.taken is None
        return self.taken is not None

    async def _fill(self, job: Job) -> None:
        """Queue missing subjects of a job when the queue has fewer than a batch needs."""
        known, fresh = await asyncio.to_thread(self._queue.known, job.kind)
        if fresh >= self._limit:
            return
        wanted = known + FILLED  # `missing` also returns queued subjects
        missing = await job.missing(wanted)
        for start in range(0, len(missing), AT_ONCE):
            part = missing[start : start + AT_ONCE]
            await asyncio.to_thread(self._queue.add, job.kind, job.version, part, self._now())
        if len(missing) < wanted and not job.recurs:
            self._complete.add(job.kind)

    async def _count(self) -> None:
        """Update the number of waiting subjects."""
        counts = await asyncio.to_thread(self._queue.counts)
        self.waiting = sum(each.count for each in counts if each.state != "dead")
