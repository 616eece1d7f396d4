"""How a face ends when a signal says so."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import FrameType


def end_on_signals(names: Iterable[str], end: Callable[[int], object], within_s: float) -> None:
    """From now on these signals have `end` called with their number in the running loop, and this
    process is over so many seconds later at most, with 128 more than that number.

    They come at once, between any two steps of the main thread, and not when the loop has time for
    them: a pipe or a terminal that nobody reads would hold that up for ever.

    Args:
        names: as in `signal`; those that this system doesn't have are left out.
    """
    loop = asyncio.get_running_loop()

    def received(number: int, _: FrameType | None) -> None:
        watchdog = threading.Timer(within_s, os._exit, (128 + number,))
        watchdog.daemon = True
        watchdog.start()
        with suppress(RuntimeError):  # the loop has ended by itself
            loop.call_soon_threadsafe(end, number)

    for name in names:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), received)
