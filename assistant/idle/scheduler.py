"""Runs idle work, one batch after another, while it is quiet. Stops as soon as somebody speaks or
types.

    quiet for `idle.every_s`  →  does the load allow it?  →  what is due?  →  one batch  →  repeat

Each batch is a task. The task is cancelled as soon as an event reports a voice, even in the middle
of a model's answer. Results that the batch has committed are kept. Its other subjects are processed
again later.
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
from assistant.memory import Batch, JobQueue, low_priority
from assistant.settings import Idle

logger = logging.getLogger(__name__)

LONGEST_PAUSE_S = 600.0
"""Maximum number of seconds between two checks for due work, if no event occurs."""
CANCEL_TIMEOUT_S = 5.0
"""Seconds after which cancelled work is abandoned, because a model may not notice the
cancellation."""
LATE_S = 0.05
"""If work takes longer than this many seconds to stop, the time is logged."""


class BatchOutcome(Enum):
    DONE = auto()
    FAILED = auto()
    """The job failed. It is tried again later."""
    INTERRUPTED = auto()
    """Somebody speaks or types, or data is being forgotten."""
    NOTHING = auto()
    """No work is due."""
    HELD = auto()
    """The user, the battery or other programs don't allow work now."""
    BROKEN = auto()
    """A store failed."""


class Scheduler:
    """Runs one user's idle jobs. Use it on the event loop, with `watch` subscribed to the event
    bus.

    Args:
        emit: receives an `IdleWork` event when a job starts or ends, and a `Notice` when a store
            fails.
        settled: waits until the language model's more urgent background work is done.
        now: wall time, UTC.
        subject_s: maximum number of seconds per subject. A batch that takes longer has failed.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        queue: JobQueue,
        quiet: ActivityMonitor,
        policy: LoadPolicy,
        settings: Idle,
        emit: Callable[[Event], None],
        *,
        settled: Callable[[], Awaitable[None]] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        subject_s: float = 120.0,
    ) -> None:
        self.queue = queue
        self.backlog = Backlog(jobs, queue, settings.batch, now, quiet.clock)
        self.yields: deque[float] = deque(maxlen=1_000)
        """Seconds that the latest batches took to stop after the first sign of a person."""
        self._quiet = quiet
        self._policy = policy
        self._settings = settings
        self._emit = emit
        self._now = now
        self._settled = settled
        self._subject_s = subject_s
        self._one_by_one = asyncio.Lock()
        self._task: asyncio.Task[BatchOutcome] | None = None
        self._batch: Batch | None = None
        self._inside = False
        """Whether the job's own code is running, or was running when the batch failed."""
        self._stopped: float | None = None
        """The time when the running batch was cancelled; None if it was not."""
        self._stop_requested = asyncio.Event()
        self._abandoned: asyncio.Task[BatchOutcome] | None = None
        """A batch that did not stop after its cancellation. No other batch starts until it has
        ended."""
        self._not_before = self._queue_retry_at = float("-inf")
        """Times on the clock: when to look for work again, and when to try the queue again."""
        self._backoff_s = self._queue_backoff_s = 0.0
        self.trouble: StoreError | None = None
        """The store error that has suspended work; None if there is none."""
        self._troubled: str | None = None
        """The kind of job whose store failed; None if the queue failed."""
        self._pause_count = 0
        self._given_up_reported = False
        quiet.on_sign(self._stop)

    # -- running --------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run idle work until cancelled."""
        while True:
            await self._quiet.lasting(
                self._settings.every_s, lambda: max(self._not_before, self._queue_retry_at)
            )
            outcome, _ = await self._one_batch(None, forced=False)
            if outcome is BatchOutcome.INTERRUPTED:  # `lasting` waits for quiet
                continue
            if outcome in (BatchOutcome.NOTHING, BatchOutcome.HELD):
                self._backoff_s = min(2 * self._backoff_s + self._settings.every_s, LONGEST_PAUSE_S)
            else:
                self._backoff_s = 0.0
            self._not_before = self._quiet.clock() + self._backoff_s

    async def run_until_empty(
        self,
        kind: str | None = None,
        most: int | None = None,
        tell: Callable[[int], None] = lambda _: None,
    ) -> int:
        """Run batches until no work is due, regardless of battery, load and `pause`, but never
        while somebody speaks. Subjects that fail are left for later. Return the number of completed
        subjects.

        Args:
            kind: the kind of work to run; None for all.
            most: maximum number of batches.
            tell: called after each batch with the number of subjects completed so far.

        Raises:
            StoreError: the queue can't be read or written, or a job's own store fails.
        """
        self.backlog.changed()  # some changes, such as imports, emit no event
        wait, done, batches, pauses = 0.0, 0, 0, self._pause_count
        while pauses == self._pause_count and (most is None or batches < most):
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
        """Stop idle work until `resume` is called, even across restarts. Raises StoreError."""
        await asyncio.to_thread(self.queue.pause, self._now())
        self._pause_count += 1
        self._stop()

    async def resume(self) -> None:
        """Undo `pause`. Raises StoreError."""
        await asyncio.to_thread(self.queue.resume)
        self.look_again()

    async def retry(self, kind: str | None = None) -> int:
        """Requeue the subjects that are marked as failed for good. Return the number of requeued
        subjects. Raises StoreError."""
        revived = await self.backlog.retry(kind)
        self.look_again()
        return revived

    def look_again(self) -> None:
        """Check for due work again soon, because there may be some now."""
        self._backoff_s, self._not_before = 0.0, float("-inf")
        self.backlog.changed()
        self._quiet.look_again()

    def watch(self, event: Event) -> None:
        match event:
            case ForgettingBegan():  # a job may be reading what is being forgotten
                self._not_before = self._quiet.clock()
                self._stop()
            case TurnEnded() | ForgettingUndone():
                self.look_again()

    @property
    def running(self) -> str | None:
        """The kind of the running job; None if no job is running."""
        return self._batch.kind if self._batch is not None else None

    async def close(self) -> None:
        """Stop the running batch and requeue its subjects. Cancel `run` before this call.
        Idempotent. Does not raise."""
        self._pause_count += 1
        self._stop()
        async with self._one_by_one:
            try:
                await self.backlog.release()
            except StoreError as error:  # the next start counts this as one failure
                logger.warning("idle work could not be requeued: %s", error)

    # -- one batch ------------------------------------------------------------------------------

    def _stop(self) -> None:
        """Cancel the running batch immediately. Further calls do nothing, so as not to interrupt
        its cleanup."""
        if self._task is not None and self._stopped is None:
            self._stopped = self._quiet.clock()
            self._stop_requested.set()
            self._task.cancel()

    async def _one_batch(self, kind: str | None, *, forced: bool) -> tuple[BatchOutcome, int]:
        """Run one batch. Return its outcome and the number of completed subjects."""
        async with self._one_by_one:  # so that another call's batch is not counted
            before = self.backlog.finished
            outcome = await self._supervised(kind, forced=forced)
            return outcome, self.backlog.finished - before

    async def _supervised(self, kind: str | None, *, forced: bool) -> BatchOutcome:
        if not self._quiet.now:
            return BatchOutcome.INTERRUPTED
        if self._abandoned is not None and not self._abandoned.done():
            return BatchOutcome.HELD
        self._inside = False
        self._stop_requested.clear()
        task = self._task = asyncio.create_task(self._work(kind, forced=forced))
        try:
            await self._ended(task)
        finally:  # reached early if the scheduler itself is cancelled
            if not task.done():
                self._stop()
                await asyncio.wait({task}, timeout=CANCEL_TIMEOUT_S)
            stopped = self._record_end()
            if not task.done():
                self._abandon(task)
        if not task.done():
            return BatchOutcome.INTERRUPTED
        # If nobody requested a stop, something that the job awaited was cancelled: it has failed.
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None:
            return task.result()
        return BatchOutcome.INTERRUPTED if stopped else await self._failed(error)

    async def _ended(self, task: "asyncio.Task[BatchOutcome]") -> None:
        """Wait until the task has ended or a stop is requested."""
        stop = asyncio.create_task(self._stop_requested.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()

    def _abandon(self, task: "asyncio.Task[BatchOutcome]") -> None:
        """Abandon a task that does not stop."""
        self._abandoned = task
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        logger.warning("idle work does not stop; no more is started until it has stopped")
        text = "Background work is not stopping; no more is started until it has stopped."
        self._emit(Notice(text, Severity.WARNING))

    def _record_end(self) -> bool:
        """Record the end of the batch. Return whether it was cancelled."""
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
        """Select a batch and run it. This is the part that may be cancelled."""
        await self.backlog.begin()
        allowed = WorkAllowed.ALL
        if not forced:
            paused = await asyncio.to_thread(self.queue.paused) is not None
            allowed = WorkAllowed.NOTHING if paused else await self._policy.allowed()
        if allowed is WorkAllowed.NOTHING:
            return BatchOutcome.HELD
        if self._settled is not None:
            await self._settled()
        found = await self.backlog.next(kind, light=allowed is WorkAllowed.LIGHT)
        self._works_again(None)
        if found is None:
            return BatchOutcome.NOTHING
        job, self._batch = found
        self._emit(IdleWork(job.kind, self.backlog.waiting))
        async with asyncio.timeout(self._subject_s * len(self._batch.subjects)):
            self._inside = True
            with low_priority():
                await job.run(self._batch.subjects)
            self._inside = False
        await self.backlog.done(self._batch)
        self._works_again(job.kind)
        return BatchOutcome.DONE

    async def _failed(self, error: BaseException) -> BatchOutcome:
        """Record a failed batch. If the queue can't store the failure, the batch is requeued before
        the next one, as if it had been interrupted."""
        name, batch = type(error).__name__, self.backlog.taken if self._inside else None
        if isinstance(error, StoreError):
            return self._broken(error, batch.kind if batch is not None else None)
        frames = "".join(traceback.format_tb(error.__traceback__))  # contains no values or words
        logger.warning("idle work (%s) failed: %s\n%s", batch and batch.kind, name, frames)
        if batch is None:
            return self._broken(StoreError(f"The list of due work can't be read ({name})."), None)
        try:
            given_up = await self.backlog.failed(batch, name)
        except StoreError as failure:
            return self._broken(failure, None)
        if given_up and not self._given_up_reported:
            self._given_up_reported = True
            text = f"Some background work failed repeatedly and was given up ({batch.kind})."
            self._emit(Notice(text, mend="assistant idle retry"))
        return BatchOutcome.FAILED

    def _broken(self, error: StoreError, kind: str | None) -> BatchOutcome:
        """Suspend work because of a store error.

        Args:
            kind: the kind of the job whose store failed; None if the queue failed.
        """
        if kind is not None:
            self.backlog.rest(kind)
        else:
            self._queue_backoff_s = min(
                2 * self._queue_backoff_s + self._settings.every_s, LONGEST_PAUSE_S
            )
            self._queue_retry_at = self._quiet.clock() + self._queue_backoff_s
        if self.trouble is None:
            text = f"Background work on the memory is suspended: {error}"
            self._emit(Notice(text, Severity.WARNING, error.mend))
        self.trouble, self._troubled = error, kind
        return BatchOutcome.BROKEN

    def _works_again(self, kind: str | None) -> None:
        """Report that a store works again: that of the jobs of `kind`, or the queue if `kind` is
        None."""
        self._queue_backoff_s, self._queue_retry_at = 0.0, float("-inf")
        if self.trouble is not None and self._troubled == kind:
            self.trouble = None
            self._emit(Notice("Background work on the memory is running again."))
