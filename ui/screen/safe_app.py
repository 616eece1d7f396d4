"""Makes sure that a screen never prints or logs any of a conversation, however it ends."""

import logging
from typing import ClassVar

from rich.console import RenderableType
from textual.app import App
from textual.binding import Binding, BindingType
from textual.worker import WorkerFailed

logger = logging.getLogger(__name__)


class SafeApp(App[int]):
    """An app that logs its errors discreetly; Textual would print them with the values of
    variables, and so with what was said."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z", "suspend_process", "To the background", id="suspend", show=False)
    ]
    crash: BaseException | None = None
    """The unexpected error that ended it, if any."""

    def _handle_exception(self, error: Exception) -> None:
        cause = error.error if isinstance(error, WorkerFailed) else error
        logger.critical("The screen ended", exc_info=cause)
        self.crash = self.crash or cause
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()

    def panic(self, *renderables: RenderableType) -> None:
        """End the app; the caller reports why. Textual would print values of variables."""
        del renderables
        self.crash = self.crash or RuntimeError("Textual gave up")
        self._close_messages_no_wait()
