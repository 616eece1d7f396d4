"""Runs a screen to its end, also where that end comes by a signal."""

import asyncio
import os
import signal
import threading
from contextlib import suppress

from ui.screen.sturdy import Sturdy
from ui.session import Session

ENDING = ("SIGTERM", "SIGHUP", "SIGINT")
"""SIGHUP comes when the terminal's window is closed; Ctrl-C is a key, and no signal, meanwhile."""

ENDING_S = 8.0
"""More than an assistant's process is given to close."""


def draw(app: Sturdy, session: Session) -> int:
    """Until its user leaves it, or a signal comes; returns the exit code. The session is closed,
    whatever happens."""
    return asyncio.run(_draw(app, session))


def _end(app: Sturdy, code: int) -> None:
    """By force when it takes too long: a terminal that nobody reads holds up whoever writes."""
    watchdog = threading.Timer(ENDING_S, os._exit, (code,))
    watchdog.daemon = True
    watchdog.start()
    app.exit(code)


async def _draw(app: Sturdy, session: Session) -> int:
    loop = asyncio.get_running_loop()
    for name in ENDING:
        number = getattr(signal, name, None)
        if number is not None:
            with suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, _end, app, 128 + number)
    try:
        code = await app.run_async()
    finally:
        await session.close()
    return code or 0
