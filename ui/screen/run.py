"""Runs a screen to its end, also where that end comes by a signal."""

import asyncio

from ui.process.signals import end_on_signals
from ui.screen.safe_app import SafeApp
from ui.session.session import Session

ENDING = ("SIGTERM", "SIGHUP", "SIGINT")
"""SIGHUP comes when the terminal's window is closed; Ctrl-C is a key, and no signal, meanwhile."""

ENDING_S = 8.0
"""More than an assistant's process is given to close."""


def draw(app: SafeApp, session: Session) -> int:
    """Until its user leaves it, or a signal comes; returns the exit code. The session is closed,
    whatever happens."""
    return asyncio.run(_draw(app, session))


async def _draw(app: SafeApp, session: Session) -> int:
    end_on_signals(ENDING, lambda number: app.exit(128 + number), ENDING_S)
    try:
        code = await app.run_async()
    finally:
        await session.close()
    return code or 0
