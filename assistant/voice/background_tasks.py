"""Tasks that run beside the pipeline, whose failures must not go unnoticed."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

logger = logging.getLogger(__name__)

OnFailure = Callable[[Exception], None]


class TaskSet:
    """Holds running tasks. An exception in one is logged and reported once.

    Args:
        on_failure: called with every exception, on the event loop.
    """

    def __init__(self, on_failure: OnFailure) -> None:
        self._on_failure = on_failure
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def cancel(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()

    async def finish(self, timeout_s: float) -> None:
        """Wait for running tasks, up to `timeout_s`."""
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
