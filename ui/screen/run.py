"""Runs a screen to its end, even if a signal ends it."""

import asyncio

from ui.process.signals import end_on_signals
from ui.screen.safe_app import SafeApp
from ui.session.session import Session

ENDING = ("SIGTERM", "SIGHUP", "SIGINT")
"""SIGHUP comes when the terminal's window is closed; Ctrl-C is a key meanwhile, not a signal."""

ENDING_S = 8.0
"""Seconds; more than the assistant's process has to close."""


def draw(app: SafeApp, session: Session) -> int:
    """Run until the user leaves it or a signal comes; returns the exit code. Always closes the
    session."""
    return asyncio.run(_draw(app, session))


async def _draw(app: SafeApp, session: Session) -> int:
    end_on_signals(ENDING, lambda number: app.exit(128 + number), ENDING_S)
    try:
        code = await app.run_async()
    finally:
        await session.close()
    return code or 0
