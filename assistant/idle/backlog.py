"""What there is to do: the kinds of work, their queue, and which of them may have a turn."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from assistant.idle.job import Job
from assistant.idle.queue import DurableQueue
from assistant.memory import AT_ONCE, Batch

FILLED = 1_000
"""Subjects of a kind that are queued at once, beyond those that are there."""
IN_A_ROW = 5
"""Batches of a kind that fail one after the other until it rests: its model is out of order, and
no subject is to be given up for that."""
BACKOFF_S = 60.0
LONGEST_REST_S = 3_600.0


@dataclass(slots=True)
class _Failing:
    """A kind of work since its last success; `until` is on the clock."""

    batches: int = 0
    until: float = float("-inf")


class Backlog:
    """Belongs to the event loop; the queue is asked in threads. All but the properties may raise
    StoreError.

    Args:
        limit: subjects of one batch.
        now: wall time, UTC.
        clock: in seconds, never set back.
    """

    def __init__(
        self,
        works: Sequence[Job],
        queue: DurableQueue,
        limit: int,
        now: Callable[[], datetime],
        clock: Callable[[], float],
    ) -> None:
        self.waiting = 0
        """How much waits, when it was last looked at."""
        self.finished = 0
        """Subjects that were done in this process."""
        self.taken: Batch | None = None
        """What is being worked on, until the queue was told what became of it."""
        self._works = {work.kind: work for work in sorted(works, key=lambda work: work.priority)}
        self._queue = queue
        self._limit = limit
        self._now = now
        self._clock = clock
        self._begun = False
        self._in_order = True
        """The queue takes nothing to be running that is not."""
        self._made = False
        """Something was done since it was last looked for everywhere."""
        self._complete: set[str] = set()
        """Kinds of which all that is missing is queued."""
        self._failing: dict[str, _Failing] = {}

    @property
    def kinds(self) -> tuple[str, ...]:
        """In the order in which they have their turn."""
        return tuple(self._works)

    @property
    def resting(self) -> frozenset[str]:
        """Kinds that fail again and again."""
        now = self._clock()
        return frozenset(kind for kind, each in self._failing.items() if each.until > now)

    def changed(self) -> None:
        """More may be missing than was known."""
        self._complete.clear()

    async def begin(self) -> None:
        """Bring the queue in order: once at the start, and after a batch of which it was not told
        what became of it."""
        if not self._begun:
            await asyncio.to_thread(self._queue.recover, self._now())
            await asyncio.to_thread(self._queue.keep_only, self.kinds)
            for work in self._works.values():
                await asyncio.to_thread(self._queue.renew, work.kind, work.version)
            self._begun = True
        await self.release()

    async def next(self, kind: str | None, *, light: bool) -> tuple[Job, Batch] | None:
        """Take what is to be done next.

        Args:
            kind: only such; default: any.
            light: only what takes little.
        """
        resting = self.resting
        works = [
            work
            for work in self._works.values()
            if kind in (None, work.kind) and work.kind not in resting and (work.light or not light)
        ]
        if not await self._take(works) and self._made:
            self._made = False
            self.changed()  # what was made may be something to do for other kinds
            await self._take(works)
        await self._count()
        return (self._works[self.taken.kind], self.taken) if self.taken is not None else None

    async def done(self, batch: Batch) -> None:
        await asyncio.to_thread(self._queue.done, batch)
        self.taken, self._in_order = None, True
        self._made = True
        self._failing.pop(batch.kind, None)
        self.finished += len(batch.subjects)
        self.waiting = max(0, self.waiting - len(batch.subjects))

    async def failed(self, batch: Batch, error: str) -> int:
        """Returns how many of it are given up.

        Args:
            error: the name of an exception's class.
        """
        self._one_more(batch.kind)
        given_up = await asyncio.to_thread(self._queue.failed, batch, error, self._now())
        self.taken, self._in_order = None, True
        await self._count()
        return given_up

    def rest(self, kind: str) -> None:
        """Its store fails: it is let alone for a while, and no subject is to blame. Doesn't
        raise."""
        self._one_more(kind, least=IN_A_ROW)

    async def release(self) -> None:
        """What was begun and interrupted waits as before."""
        self.taken = None
        if not self._in_order:
            await asyncio.to_thread(self._queue.release)
            self._in_order = True

    async def paused(self) -> datetime | None:
        """Since when the user wants none of it."""
        return await asyncio.to_thread(self._queue.paused)

    async def pause(self) -> None:
        await asyncio.to_thread(self._queue.pause, self._now())

    async def resume(self) -> None:
        await asyncio.to_thread(self._queue.resume)

    async def retry(self, kind: str | None) -> int:
        """What was given up is tried again, and what rests too; returns how many were."""
        self._failing = {each: at for each, at in self._failing.items() if kind not in (None, each)}
        return await asyncio.to_thread(self._queue.retry, kind)

    # -- inside ---------------------------------------------------------------------------------

    def _one_more(self, kind: str, least: int = 0) -> None:
        """One more failure."""
        failing = self._failing.setdefault(kind, _Failing())
        failing.batches = max(failing.batches + 1, least)
        if (over := failing.batches - IN_A_ROW) >= 0:
            failing.until = self._clock() + min(BACKOFF_S * 2 ** min(over, 10), LONGEST_REST_S)

    async def _take(self, works: Sequence[Job]) -> bool:
        """The next batch; says whether there is one."""
        for work in works:
            if work.kind not in self._complete:
                await self._fill(work)
        limits = {work.kind: 1 if work.kind in self._failing else self._limit for work in works}
        self._in_order = False  # a thread ends what it began, whatever is cancelled here
        self.taken = await asyncio.to_thread(self._queue.take, limits, self._now())
        self._in_order = self.taken is None
        return self.taken is not None

    async def _fill(self, work: Job) -> None:
        """Queue what is missing, once only a batch is left of it."""
        known, fresh = await asyncio.to_thread(self._queue.known, work.kind)
        if fresh >= self._limit:
            return
        wanted = known + FILLED  # those that are queued are missing too
        missing = await work.missing(wanted)
        for start in range(0, len(missing), AT_ONCE):
            part = missing[start : start + AT_ONCE]
            await asyncio.to_thread(self._queue.add, work.kind, work.version, part, self._now())
        if len(missing) < wanted and not work.recurs:
            self._complete.add(work.kind)

    async def _count(self) -> None:
        counts = await asyncio.to_thread(self._queue.counts)
        self.waiting = sum(each.count for each in counts if each.state != "dead")
