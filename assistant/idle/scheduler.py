"""Idle work: one batch after the other while it is quiet, and none from the first sign of somebody.

    quiet for `idle.every_s`  →  may this machine?  →  what is due?  →  one batch  →  and again

A batch is a task of its own, which is cancelled within the event that tells of a voice, in the
middle of a model's answer too. What it had committed is kept, the rest is done again.
"""

import asyncio
import logging
import traceback
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from enum import Enum, auto

from assistant.errors import StoreError
from assistant.events import (
    Event,
    ForgettingBegan,
    ForgettingUndone,
    IdleWork,
    Notice,
    Severity,
    TurnEnded,
)
from assistant.idle.activity import ActivityMonitor
from assistant.idle.backlog import Backlog
from assistant.idle.job import Job
from assistant.idle.load_policy import LoadPolicy, WorkAllowed
from assistant.idle.queue import DurableQueue
from assistant.memory import Batch, low_priority
from assistant.settings import Idle

logger = logging.getLogger(__name__)

LONGEST_PAUSE_S = 600.0
"""Between two looks at whether something is due, where nothing has happened."""
CANCEL_TIMEOUT_S = 5.0
"""Work that has not stopped by then is left behind: a model may not hear that it is cancelled."""
LATE_S = 0.05
"""Work that takes longer to stop is told of in the log."""


class BatchOutcome(Enum):
    DONE = auto()
    FAILED = auto()
    """The work did; it is tried again later."""
    INTERRUPTED = auto()
    """By somebody's presence, or since something is being forgotten."""
    NOTHING = auto()
    """Nothing is due."""
    HELD = auto()
    """By the user, the battery or other programs."""
    BROKEN = auto()
    """A store failed."""


async def _at_once() -> None:
    """Nothing else wants the model."""


class Scheduler:
    """One user's. Belongs to the event loop; `watch` is subscribed to the event bus.

    Args:
        emit: told by `IdleWork` what runs, and by a `Notice` when a store begins to fail.
        settled: waits until what else uses the model's background lane is done.
        now: wall time, UTC.
        subject_s: for each subject of a batch: what takes longer hangs, and counts as failed.
    """

    def __init__(
        self,
        works: Sequence[Job],
        queue: DurableQueue,
        quiet: ActivityMonitor,
        policy: LoadPolicy,
        settings: Idle,
        emit: Callable[[Event], None],
        *,
        settled: Callable[[], Awaitable[None]] = _at_once,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        subject_s: float = 120.0,
    ) -> None:
        self.queue = queue
        self.backlog = Backlog(works, queue, settings.batch, now, quiet.clock)
        self.yields: deque[float] = deque(maxlen=1_000)
        """Seconds from the sign of somebody until a batch had stopped, of the last ones."""
        self._quiet = quiet
        self._policy = policy
        self._settings = settings
        self._emit = emit
        self._settled = settled
        self._subject_s = subject_s
        self._one_by_one = asyncio.Lock()
        self._task: asyncio.Task[BatchOutcome] | None = None
        self._batch: Batch | None = None
        self._inside = False
        """The work itself is running, or has failed."""
        self._stopped: float | None = None
        """When the running batch was told to stop."""
        self._told_to_stop = asyncio.Event()
        self._left: asyncio.Task[BatchOutcome] | None = None
        """A batch that did not stop. Nothing is begun until it has ended."""
        self._not_before = float("-inf")
        self._rest_until = float("-inf")
        self._pause = 0.0
        self._rest = 0.0
        self.trouble: StoreError | None = None
        """Why work rests, while a store fails."""
        self._troubled: str | None = None
        """The kind of work whose store it is; None where it is the queue's."""
        self._pauses = 0
        self._told_given_up = False
        quiet.on_sign(self._stop)

    # -- running --------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._quiet.lasting(
                self._settings.every_s, lambda: max(self._not_before, self._rest_until)
            )
            outcome, _ = await self._one_batch(None, forced=False)
            if outcome is BatchOutcome.INTERRUPTED:  # from when on it is quiet decides
                continue
            if outcome in (BatchOutcome.NOTHING, BatchOutcome.HELD):
                self._pause = min(2 * self._pause + self._settings.every_s, LONGEST_PAUSE_S)
            else:
                self._pause = 0.0
            self._not_before = self._quiet.clock() + self._pause

    async def run_until_empty(
        self,
        kind: str | None = None,
        most: int | None = None,
        tell: Callable[[int], None] = lambda _: None,
    ) -> int:
        """Batch after batch, whatever battery, load and `pause` say, but never while somebody
        speaks; returns how many subjects were done. What fails is left for later.

        Args:
            kind: only such.
            most: at most so many batches.
            tell: told after each how many were done so far.

        Raises:
            StoreError: the queue can't be read or written, or the work's own store fails.
        """
        self.backlog.changed()  # by an import, or by whoever else tells no event
        wait, done, batches, pauses = 0.0, 0, 0, self._pauses
        while pauses == self._pauses and (most is None or batches < most):
            await self._quiet.lasting(wait)
            outcome, subjects = await self._one_batch(kind, forced=True)
            done += subjects
            tell(done)
            batches += outcome in (BatchOutcome.DONE, BatchOutcome.FAILED)
            wait = self._settings.every_s if outcome is BatchOutcome.INTERRUPTED else 0.0
            if outcome in (BatchOutcome.NOTHING, BatchOutcome.HELD):
                break
            if outcome is BatchOutcome.BROKEN and self.trouble is not None:
                raise self.trouble
        return done

    async def pause(self) -> None:
        """Do nothing of it, after a restart neither, until `resume`. Raises StoreError."""
        await self.backlog.pause()
        self._pauses += 1
        self._stop()

    async def resume(self) -> None:
        """Raises StoreError."""
        await self.backlog.resume()
        self.look_again()

    async def retry(self, kind: str | None = None) -> int:
        """What was given up is tried again; returns how many. Raises StoreError."""
        revived = await self.backlog.retry(kind)
        self.look_again()
        return revived

    def look_again(self) -> None:
        """Something may be due."""
        self._pause, self._not_before = 0.0, float("-inf")
        self.backlog.changed()
        self._quiet.look_again()

    def watch(self, event: Event) -> None:
        match event:
            case ForgettingBegan():  # it may be among what is being read
                self._not_before = self._quiet.clock()
                self._stop()
            case TurnEnded() | ForgettingUndone():
                self.look_again()

    @property
    def running(self) -> str | None:
        """The kind of work that is being done."""
        return self._batch.kind if self._batch is not None else None

    async def close(self) -> None:
        """When `run` was cancelled: what was begun waits again. Idempotent; doesn't raise."""
        self._pauses += 1
        self._stop()
        async with self._one_by_one:
            try:
                await self.backlog.release()
            except StoreError as error:  # the next start counts it as failed once
                logger.warning("idle work was not put back: %s", error)

    # -- one batch ------------------------------------------------------------------------------

    def _stop(self) -> None:
        """At once; once, or it would be stopped in its clearing up."""
        if self._task is not None and self._stopped is None:
            self._stopped = self._quiet.clock()
            self._told_to_stop.set()
            self._task.cancel()

    async def _one_batch(self, kind: str | None, *, forced: bool) -> tuple[BatchOutcome, int]:
        """Also says how many subjects were done."""
        async with self._one_by_one:  # whoever waited for it counts none of the batch before
            before = self.backlog.finished
            outcome = await self._alone(kind, forced=forced)
            return outcome, self.backlog.finished - before

    async def _alone(self, kind: str | None, *, forced: bool) -> BatchOutcome:
        if not self._quiet.now:
            return BatchOutcome.INTERRUPTED
        if self._left is not None and not self._left.done():
            return BatchOutcome.HELD
        self._inside = False
        self._told_to_stop.clear()
        task = self._task = asyncio.create_task(self._work(kind, forced=forced))
        try:
            await self._ended(task)
        finally:  # reached too early where the whole scheduler is cancelled
            if not task.done():
                self._stop()
                await asyncio.wait({task}, timeout=CANCEL_TIMEOUT_S)
            stopped = self._noted_end()
            if not task.done():
                self._leave(task)
        if not task.done():
            return BatchOutcome.INTERRUPTED
        # Cancelled by nobody is work that waited for something that was: a mistake of its own.
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None:
            return task.result()
        return BatchOutcome.INTERRUPTED if stopped else await self._failed(error)

    async def _ended(self, task: "asyncio.Task[BatchOutcome]") -> None:
        """Until it has, or was told to."""
        told = asyncio.create_task(self._told_to_stop.wait())
        try:
            await asyncio.wait({task, told}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            told.cancel()

    def _leave(self, task: "asyncio.Task[BatchOutcome]") -> None:
        """Nobody waits for it any more."""
        self._left = task
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        logger.warning("idle work does not stop: none is begun until it has")
        told = "Work between utterances does not stop; no more of it is begun until it has."
        self._emit(Notice(told, Severity.WARNING))

    def _noted_end(self) -> bool:
        """Says whether it was told to stop."""
        stopped, batch = self._stopped, self._batch
        self._task = self._batch = self._stopped = None
        if batch is not None:
            self._emit(IdleWork(None, self.backlog.waiting))
        if stopped is not None and batch is not None:
            self.yields.append(took := self._quiet.clock() - stopped)
            if took > LATE_S:
                logger.warning("idle work (%s) took %.0f ms to stop", batch.kind, took * 1000)
        return stopped is not None

    async def _work(self, kind: str | None, *, forced: bool) -> BatchOutcome:
        """Everything that may be interrupted."""
        await self.backlog.begin()
        allowed = WorkAllowed.ALL
        if not forced:
            paused = await self.backlog.paused() is not None
            allowed = WorkAllowed.NOTHING if paused else await self._policy.allowed()
        if allowed is WorkAllowed.NOTHING:
            return BatchOutcome.HELD
        await self._settled()
        found = await self.backlog.next(kind, light=allowed is WorkAllowed.LIGHT)
        self._works_again(None)
        if found is None:
            return BatchOutcome.NOTHING
        work, self._batch = found
        self._emit(IdleWork(work.kind, self.backlog.waiting))
        async with asyncio.timeout(self._subject_s * len(self._batch.subjects)):
            self._inside = True
            with low_priority():
                await work.run(self._batch.subjects)
            self._inside = False
        await self.backlog.done(self._batch)
        self._works_again(work.kind)
        return BatchOutcome.DONE

    async def _failed(self, error: BaseException) -> BatchOutcome:
        """What the queue can't be told now, it is told before the next batch."""
        name, batch = type(error).__name__, self.backlog.taken if self._inside else None
        if isinstance(error, StoreError):
            return self._broken(error, batch.kind if batch is not None else None)
        frames = "".join(traceback.format_tb(error.__traceback__))  # no values: no words
        logger.warning("idle work (%s) failed: %s\n%s", batch and batch.kind, name, frames)
        if batch is None:
            return self._broken(StoreError(f"What there is to do can't be known ({name})."), None)
        try:
            given_up = await self.backlog.failed(batch, name)
        except StoreError as failure:
            return self._broken(failure, None)
        if given_up and not self._told_given_up:
            self._told_given_up = True
            told = f"Some work between utterances was given up ({batch.kind})."
            self._emit(Notice(told, mend="assistant idle retry"))
        return BatchOutcome.FAILED

    def _broken(self, error: StoreError, kind: str | None) -> BatchOutcome:
        """
        Args:
            kind: of the work whose store fails; None where it is the queue's.
        """
        if kind is not None:
            self.backlog.rest(kind)
        else:
            self._rest = min(2 * self._rest + self._settings.every_s, LONGEST_PAUSE_S)
            self._rest_until = self._quiet.clock() + self._rest
        if self.trouble is None:
            told = f"Work on the memory between utterances rests: {error}"
            self._emit(Notice(told, Severity.WARNING, error.mend))
        self.trouble, self._troubled = error, kind
        return BatchOutcome.BROKEN

    def _works_again(self, kind: str | None) -> None:
        """The queue does; or the store of a kind of work."""
        self._rest, self._rest_until = 0.0, float("-inf")
        if self.trouble is not None and self._troubled == kind:
            self.trouble = None
            self._emit(Notice("Job on the memory between utterances goes on."))
