"""Requests about idle work as JSON, and the rows they are answered with.

{"act": "idle", "do": "status"}           → "idle": what waits, runs and was given up; then
                                            "given-up" rows, the newest first
{"act": "idle", "do": "pause"}, "resume"  → "idle"
{"act": "idle", "do": "retry"}            → "retried", with how many; "kind": only such
{"act": "idle", "do": "run"}              → "begun": it goes on beside the conversation. "kind":
                                            only such; "until_empty": true, or else one batch
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
    """The scheduler of a running assistant, for other threads.

    Args:
        loop: the assistant's.
    """

    def __init__(self, scheduler: Scheduler, loop: asyncio.AbstractEventLoop) -> None:
        self.scheduler = scheduler
        self._loop = loop
        self._asked: asyncio.Task[None] | None = None
        self._done = 0
        self._failed: StoreError | None = None

    @property
    def asked(self) -> Row | None:
        """Of the last run that somebody asked for: whether it goes on, how much it did, and why it
        ended early."""
        if self._asked is None:
            return None
        error = self._failed
        failed = {"message": str(error), "mend": error.mend} if error is not None else None
        return {"goes_on": not self._asked.done(), "done": self._done, "failed": failed}

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Raises what it raises."""
        return run_on_loop(self._loop, work)

    def begin(self, kind: str | None, most: int | None) -> None:
        """
        Args:
            most: batches at most; default: until nothing is due.

        Raises:
            StoreError: one is under way.
        """
        self.call(self._begin(kind, most))

    async def _begin(self, kind: str | None, most: int | None) -> None:
        if self._asked is not None and not self._asked.done():
            raise StoreError(
                "It is being worked on already.", mend="assistant idle status shows how far it is."
            )
        self._done, self._failed = 0, None
        self._asked = asyncio.create_task(self._run(kind, most))

    async def _run(self, kind: str | None, most: int | None) -> None:
        try:
            await self.scheduler.run_until_empty(kind, most, self._count)
        except StoreError as error:  # who asked for it is told
            self._failed = error
            logger.warning("idle work that was asked for ended: %s", error)

    def _count(self, done: int) -> None:
        self._done = done

    async def close(self) -> None:
        """Idempotent."""
        task = self._asked
        if task is not None and not task.done():  # it may be waiting for silence
            task.cancel()
            await asyncio.wait({task})
        await self.scheduler.close()


class IdleAdmin:
    """What a face may ask about one user's idle work. Blocks; not for an event loop.

    Args:
        session: where an assistant runs for this user.
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
        """
        Raises:
            SettingsError: the request is not as it must be.
            StoreError: the queue can't be read or written.
        """
        kind = request.get("kind")
        if not isinstance(kind, str | None):
            raise SettingsError("The `kind` of a request is a text.", mend=HELP)
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
                    mend="Restart it: it is of another version.",
                )

    # -- inside ---------------------------------------------------------------------------------

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
                "The running assistant works for another user.",
                mend="Close it, and try again.",
            )
        self._session.begin(kind, None if until_empty else 1)
        return {"event": "begun"}

    def _known(self, kind: str | None) -> str | None:
        """Raises SettingsError: there is no such kind of work."""
        kinds = {each.kind for each in self._queue.counts()}
        if self._session is not None:
            kinds |= set(self._session.scheduler.backlog.kinds)
        if kind is not None and kind not in kinds:
            named = ", ".join(sorted(kinds)) or "none"
            raise SettingsError(
                f"There is no idle work of the kind {kind!r}; there is: {named}.", mend=HELP
            )
        return kind
