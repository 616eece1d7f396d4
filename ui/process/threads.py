"""Run blocking functions beside an event loop without delaying the end of the program."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def run_on_daemon_thread(function: Callable[..., T], *arguments: object) -> T:
    """Run `function(*arguments)` on a daemon thread and return its result.

    Unlike a thread of `asyncio.to_thread`, a daemon thread doesn't delay the end of the program.
    """
    future: Future[T] = Future()

    def work() -> None:
        try:
            result = function(*arguments)
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            if not future.cancelled():
                future.set_exception(error)
        else:
            if not future.cancelled():
                future.set_result(result)

    threading.Thread(target=work, name="work", daemon=True).start()
    return await asyncio.wrap_future(future)
