"""JSON requests about idle work, and the rows with which they are answered.

{"act": "idle", "do": "status"}           → "idle": counts of subjects by kind, and the job that
                                            is running; then a "given-up" row for each subject
                                            marked as failed for good, newest first
{"act": "idle", "do": "pause"}, "resume"  → "idle"
{"act": "idle", "do": "retry"}            → "retried", with a count. Optional key: "kind"
{"act": "idle", "do": "run"}              → "begun"; the work runs in the background. "kind": only
                                            this kind. "until_empty": true to run until no work
                                            is due; otherwise one batch is run
"""

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from datetime import UTC, datetime
from typing import Any

from assistant.errors import SettingsError, StoreError
from assistant.idle.scheduler import Scheduler
from assistant.ipc import LISTED, Request, Result, Row, run_on_loop
from assistant.memory import JobQueue, Transcript

logger = logging.getLogger(__name__)

ACT = "idle"
HELP = "assistant idle --help"


class IdleAdmin:
    """Answers requests about idle work.

    Args:
        scheduler: the scheduler of a running assistant. If given, create this object on its event
            loop.
        user: the user for whom the scheduler works.
    """

    def __init__(
        self, transcript: Transcript, scheduler: Scheduler | None = None, user: str = ""
    ) -> None:
        self._transcript = transcript
        self._scheduler = scheduler
        self._user = user
        self._loop = asyncio.get_running_loop() if scheduler is not None else None
        self._asked: asyncio.Task[None] | None = None
        """The last requested run. `_done` is the number of subjects that it has completed, and
        `_failed` is the error that ended it."""
        self._done = 0
        self._failed: StoreError | None = None

    def carry_out(self, request: Request) -> Iterator[Row]:
        """Carry out `request` and yield the rows of the answer. Blocks, so don't call it on the
        event loop.

        Raises:
            SettingsError: the request is invalid.
            StoreError: the queue can't be read or written.
        """
        user, kind = str(request.get("user", "")), request.get("kind")
        if not isinstance(kind, str | None):
            raise SettingsError("The `kind` of a request must be text.", mend=HELP)
        queue = JobQueue(self._transcript, user)
        scheduler = self._scheduler if user == self._user else None
        match request.get("do"):
            case "status":
                yield self._status(queue, scheduler)
                for dead in queue.dead(LISTED):
                    yield {
                        "event": "given-up",
                        "kind": dead.kind,
                        "subject": dead.subject,
                        "attempts": dead.attempts,
                        "error": dead.error,
                    }
            case "pause":
                if scheduler is not None:
                    self._call(scheduler.pause())
                else:
                    queue.pause(datetime.now(UTC))
                yield self._status(queue, scheduler)
            case "resume":
                if scheduler is not None:
                    self._call(scheduler.resume())
                else:
                    queue.resume()
                yield self._status(queue, scheduler)
            case "retry":
                _check_kind(kind, queue, scheduler)
                if scheduler is not None:
                    count = self._call(scheduler.retry(kind))
                else:
                    count = queue.retry(kind)
                yield {"event": "retried", "count": count}
            case "run":
                _check_kind(kind, queue, scheduler)
                if scheduler is None:
                    raise StoreError(
                        "The running assistant is working for another user.",
                        mend="Close it and try again.",
                    )
                self._call(self._begin(scheduler, kind, request.get("until_empty") is True))
                yield {"event": "begun"}
            case _:
                raise SettingsError(
                    "The running assistant does not know this request.",
                    mend="Restart the assistant: its version differs from this command's.",
                )

    async def close(self) -> None:
        """Stop the requested run and the scheduler. Idempotent."""
        if self._asked is not None and not self._asked.done():  # it may be waiting for quiet
            self._asked.cancel()
            await asyncio.wait({self._asked})
        if self._scheduler is not None:
            await self._scheduler.close()

    # -- internals ------------------------------------------------------------------------------

    def _call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run the coroutine on the assistant's event loop, and return its result. Raises the
        coroutine's exceptions."""
        assert self._loop is not None
        return run_on_loop(self._loop, work)

    async def _begin(self, scheduler: Scheduler, kind: str | None, until_empty: bool) -> None:
        """Start a run in the background. Raises StoreError if a run is in progress."""
        if self._asked is not None and not self._asked.done():
            raise StoreError(
                "Idle work is already running.", mend="assistant idle status shows its progress."
            )
        self._done, self._failed = 0, None
        self._asked = asyncio.create_task(self._run(scheduler, kind, None if until_empty else 1))

    async def _run(self, scheduler: Scheduler, kind: str | None, most: int | None) -> None:
        try:
            await scheduler.run_until_empty(kind, most, self._count)
        except StoreError as error:  # reported by "status"
            self._failed = error
            logger.warning("requested idle work ended: %s", error)

    def _count(self, done: int) -> None:
        self._done = done

    def _status(self, queue: JobQueue, scheduler: Scheduler | None) -> Row:
        by_kind: dict[str, Row] = {}
        for kind in scheduler.backlog.kinds if scheduler is not None else ():
            by_kind[kind] = {"kind": kind, "waiting": 0, "given_up": 0}
        for each in queue.counts():
            row = by_kind.setdefault(each.kind, {"kind": each.kind, "waiting": 0, "given_up": 0})
            row["given_up" if each.state == "dead" else "waiting"] += each.count
        paused = queue.paused()
        return {
            "event": "idle",
            "waiting": sum(row["waiting"] for row in by_kind.values()),
            "given_up": sum(row["given_up"] for row in by_kind.values()),
            "kinds": list(by_kind.values()),
            "paused": paused.isoformat() if paused is not None else None,
            "running": scheduler.running if scheduler else None,
            "resting": sorted(scheduler.backlog.resting) if scheduler else [],
            "trouble": str(scheduler.trouble) if scheduler and scheduler.trouble else None,
            "asked": self._asked_row() if scheduler else None,
            "attended": scheduler is not None,
        }

    def _asked_row(self) -> Row | None:
        if self._asked is None:
            return None
        error = self._failed
        failed = {"message": str(error), "mend": error.mend} if error is not None else None
        return {"goes_on": not self._asked.done(), "done": self._done, "failed": failed}


def _check_kind(kind: str | None, queue: JobQueue, scheduler: Scheduler | None) -> None:
    """Raise SettingsError if `kind` is not a kind of idle work."""
    kinds = {each.kind for each in queue.counts()}
    if scheduler is not None:
        kinds |= set(scheduler.backlog.kinds)
    if kind is not None and kind not in kinds:
        named = ", ".join(sorted(kinds)) or "none"
        raise SettingsError(f"There is no idle work of kind {kind!r}. Kinds: {named}.", mend=HELP)
