"""Runs work on a running assistant's event loop from another thread, which waits for the result."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from assistant.errors import StoreError

Result = TypeVar("Result")


def run_on_loop(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Result]) -> Result:
    """Run `work` on `loop` and return its result. Blocking; not for the loop's own thread. Raises
    what `work` raises, and StoreError if the loop has ended or ends meanwhile."""
    ending = StoreError("The assistant is shutting down.", mend="Try again in a moment.")
    try:
        future = asyncio.run_coroutine_threadsafe(work, loop)
    except RuntimeError as error:  # the loop is closed
        work.close()
        raise ending from error
    try:
        return future.result()
    except CancelledError as error:
        raise ending from error
