"""Ends a user interface on a signal."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import FrameType


def end_on_signals(names: Iterable[str], end: Callable[[int], object], within_s: float) -> None:
    """From now on, these signals call `end` with their number in the running loop, and the process
    exits at most `within_s` seconds later, with 128 plus that number.

    A signal is handled between any two steps of the main thread, not when the loop has time: an
    unread pipe or terminal could block the loop for ever.

    Args:
        names: as in `signal`; those that this system lacks are skipped.
    """
    loop = asyncio.get_running_loop()

    def received(number: int, _: FrameType | None) -> None:
        watchdog = threading.Timer(within_s, os._exit, (128 + number,))
        watchdog.daemon = True
        watchdog.start()
        with suppress(RuntimeError):  # the loop has already ended
            loop.call_soon_threadsafe(end, number)

    for name in names:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), received)
