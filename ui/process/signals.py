"""End a user interface when the process receives a signal."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import FrameType


def end_on_signals(names: Iterable[str], end: Callable[[int], object], within_s: float) -> None:
    """When a signal arrives, call `end(number)` in the running event loop.

    If the process is still running `within_s` seconds later, it exits with 128 plus the number.
    The handler doesn't wait for the event loop, because an unread pipe or terminal could block the
    loop for ever.

    Args:
        names: names of signals as in the module `signal`. Names unknown to this system are skipped.
    """
    loop = asyncio.get_running_loop()

    def received(number: int, _: FrameType | None) -> None:
        watchdog = threading.Timer(within_s, os._exit, (128 + number,))
        watchdog.daemon = True
        watchdog.start()
        with suppress(RuntimeError):  # the loop is already closed
            loop.call_soon_threadsafe(end, number)

    for name in names:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), received)
