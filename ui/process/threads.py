"""Runs blocking work beside an event loop without delaying the program's end."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def run_on_daemon_thread(function: Callable[..., T], *arguments: object) -> T:
    """Await `function(*arguments)` on a daemon thread, which doesn't hold up the program's end,
    unlike that of `asyncio.to_thread`."""
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
