"""JSON requests about idle work, and the rows they are answered with.

{"act": "idle", "do": "status"}           → "idle": what is waiting, running and given up; then
                                            "given-up" rows, newest first
{"act": "idle", "do": "pause"}, "resume"  → "idle"
{"act": "idle", "do": "retry"}            → "retried", with a count; "kind": only this kind
{"act": "idle", "do": "run"}              → "begun": it runs beside the conversation. "kind": only
                                            this kind; "until_empty": true runs until nothing is
                                            due, otherwise one batch
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime
from typing import Any

from assistant.errors import SettingsError, StoreError
from assistant.idle.queue import DurableQueue
from assistant.idle.scheduler import Scheduler
from assistant.ipc import LISTED, Request, Result, Row, run_on_loop

logger = logging.getLogger(__name__)


ACT = "idle"
HELP = "assistant idle --help"


class SchedulerProxy:
    """Gives other threads access to a running assistant's scheduler.

    Args:
        loop: the assistant's event loop.
    """

    def __init__(self, scheduler: Scheduler, loop: asyncio.AbstractEventLoop) -> None:
        self.scheduler = scheduler
        self._loop = loop
        self._asked: asyncio.Task[None] | None = None
        self._done = 0
        self._failed: StoreError | None = None

    @property
    def asked(self) -> Row | None:
        """The last requested run: whether it is still running, how much it did, and why it ended
        early, if it did."""
        if self._asked is None:
            return None
        error = self._failed
        failed = {"message": str(error), "mend": error.mend} if error is not None else None
        return {"goes_on": not self._asked.done(), "done": self._done, "failed": failed}

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run `work` on the assistant's loop; raises what it raises."""
        return run_on_loop(self._loop, work)

    def begin(self, kind: str | None, most: int | None) -> None:
        """Start a run.

        Args:
            most: maximum number of batches; default: until nothing is due.

        Raises:
            StoreError: a run is in progress.
        """
        self.call(self._begin(kind, most))

    async def _begin(self, kind: str | None, most: int | None) -> None:
        if self._asked is not None and not self._asked.done():
            raise StoreError(
                "Idle work is already running.", mend="assistant idle status shows its progress."
            )
        self._done, self._failed = 0, None
        self._asked = asyncio.create_task(self._run(kind, most))

    async def _run(self, kind: str | None, most: int | None) -> None:
        try:
            await self.scheduler.run_until_empty(kind, most, self._count)
        except StoreError as error:  # reported in `asked`
            self._failed = error
            logger.warning("requested idle work ended: %s", error)

    def _count(self, done: int) -> None:
        self._done = done

    async def close(self) -> None:
        """End the run and the scheduler. Idempotent."""
        task = self._asked
        if task is not None and not task.done():  # it may be waiting for quiet
            task.cancel()
            await asyncio.wait({task})
        await self.scheduler.close()


class IdleAdmin:
    """Answers requests about one user's idle work. Blocks; not for an event loop.

    Args:
        session: set if an assistant is running for this user.
    """

    def __init__(
        self,
        queue: DurableQueue,
        session: SchedulerProxy | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._queue = queue
        self._session = session
        self._now = now

    def carry_out(self, request: Request) -> Iterator[Row]:
        """Carry out `request` and yield the rows of its answer.

        Raises:
            SettingsError: the request is invalid.
            StoreError: the queue can't be read or written.
        """
        kind = request.get("kind")
        if not isinstance(kind, str | None):
            raise SettingsError("The `kind` of a request must be text.", mend=HELP)
        match request.get("do"):
            case "status":
                yield self._status()
                for dead in self._queue.dead(LISTED):
                    yield {
                        "event": "given-up",
                        "kind": dead.kind,
                        "subject": dead.subject,
                        "attempts": dead.attempts,
                        "error": dead.error,
                    }
            case "pause":
                self._pause()
                yield self._status()
            case "resume":
                self._resume()
                yield self._status()
            case "retry":
                yield {"event": "retried", "count": self._retry(self._known(kind))}
            case "run":
                yield self._run(self._known(kind), request.get("until_empty") is True)
            case _:
                raise SettingsError(
                    "The running assistant does not know this request.",
                    mend="Restart the assistant: its version differs from this command's.",
                )

    # -- internals ------------------------------------------------------------------------------

    def _status(self) -> Row:
        by_kind: dict[str, Row] = {}
        for kind in self._session.scheduler.backlog.kinds if self._session is not None else ():
            by_kind[kind] = {"kind": kind, "waiting": 0, "given_up": 0}
        for each in self._queue.counts():
            row = by_kind.setdefault(each.kind, {"kind": each.kind, "waiting": 0, "given_up": 0})
            row["given_up" if each.state == "dead" else "waiting"] += each.count
        paused, scheduler = self._queue.paused(), self._session and self._session.scheduler
        return {
            "event": "idle",
            "waiting": sum(row["waiting"] for row in by_kind.values()),
            "given_up": sum(row["given_up"] for row in by_kind.values()),
            "kinds": list(by_kind.values()),
            "paused": paused.isoformat() if paused is not None else None,
            "running": scheduler.running if scheduler else None,
            "resting": sorted(scheduler.backlog.resting) if scheduler else [],
            "trouble": str(scheduler.trouble) if scheduler and scheduler.trouble else None,
            "asked": self._session.asked if self._session is not None else None,
            "attended": self._session is not None,
        }

    def _pause(self) -> None:
        if self._session is not None:
            self._session.call(self._session.scheduler.pause())
        else:
            self._queue.pause(self._now())

    def _resume(self) -> None:
        if self._session is not None:
            self._session.call(self._session.scheduler.resume())
        else:
            self._queue.resume()

    def _retry(self, kind: str | None) -> int:
        if self._session is not None:
            return self._session.call(self._session.scheduler.retry(kind))
        return self._queue.retry(kind)

    def _run(self, kind: str | None, until_empty: bool) -> Row:
        if self._session is None:
            raise StoreError(
                "The running assistant is working for another user.",
                mend="Close it and try again.",
            )
        self._session.begin(kind, None if until_empty else 1)
        return {"event": "begun"}

    def _known(self, kind: str | None) -> str | None:
        """Return `kind`. Raises SettingsError if there is no such kind of work."""
        kinds = {each.kind for each in self._queue.counts()}
        if self._session is not None:
            kinds |= set(self._session.scheduler.backlog.kinds)
        if kind is not None and kind not in kinds:
            named = ", ".join(sorted(kinds)) or "none"
            raise SettingsError(
                f"There is no idle work of kind {kind!r}. Kinds: {named}.", mend=HELP
            )
        return kind
