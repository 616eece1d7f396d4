"""Background tasks whose exceptions are reported."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

logger = logging.getLogger(__name__)

OnFailure = Callable[[Exception], None]


class TaskSet:
    """A set of running tasks. A task's exception is logged and reported.

    Args:
        on_failure: called on the event loop with each exception.
    """

    def __init__(self, on_failure: OnFailure) -> None:
        self._on_failure = on_failure
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def cancel(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()

    async def finish(self, timeout_s: float) -> None:
        """Wait up to `timeout_s` seconds for the running tasks to end."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=timeout_s)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if isinstance(error, Exception):
            logger.error("background work failed", exc_info=error)
            self._on_failure(error)
