"""Run a Textual app so that it never prints or logs text of a conversation, not even in a crash."""

import asyncio
import logging
from typing import ClassVar

from rich.console import RenderableType
from textual.app import App
from textual.binding import Binding, BindingType
from textual.worker import WorkerFailed

from ui.process.signals import end_on_signals
from ui.session.session import Session

ENDING = ("SIGTERM", "SIGHUP", "SIGINT")
"""Signals that end the screen. SIGHUP is sent when the terminal's window is closed. While the
screen is open, Ctrl-C is a key and sends no signal."""

ENDING_S = 8.0
"""Maximum seconds from a signal to the end of the process. This is longer than the assistant's
process may take to close."""

logger = logging.getLogger(__name__)


class SafeApp(App[int]):
    """An app that logs its unexpected errors without text of a conversation.

    Textual would print them with the values of variables, which may contain such text.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z", "suspend_process", "Move to the background", id="suspend", show=False)
    ]
    crash: BaseException | None = None
    """The unexpected error that ended the app, if any."""

    def _handle_exception(self, error: Exception) -> None:
        cause = error.error if isinstance(error, WorkerFailed) else error
        logger.critical("The screen ended", exc_info=cause)
        self.crash = self.crash or cause
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()

    def panic(self, *renderables: RenderableType) -> None:
        """End the app without printing the error, whose variables may contain private text."""
        del renderables
        self.crash = self.crash or RuntimeError("Textual gave up")
        self._close_messages_no_wait()


def draw(app: SafeApp, session: Session) -> int:
    """Run the app until the user quits or a signal arrives, then close the session.

    Returns:
        The exit code.
    """
    return asyncio.run(_draw(app, session))


async def _draw(app: SafeApp, session: Session) -> int:
    end_on_signals(ENDING, lambda number: app.exit(128 + number), ENDING_S)
    try:
        code = await app.run_async()
    finally:
        await session.close()
    return code or 0
