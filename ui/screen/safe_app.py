"""What holds however a screen ends: nothing of a conversation is printed or logged."""

import logging
from typing import ClassVar

from rich.console import RenderableType
from textual.app import App
from textual.binding import Binding, BindingType
from textual.worker import WorkerFailed

logger = logging.getLogger(__name__)


class SafeApp(App[int]):
    """An app whose errors are logged discreetly; Textual prints them with the values of variables,
    and so with what was said."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z", "suspend_process", "To the background", id="suspend", show=False)
    ]
    crash: BaseException | None = None
    """What ended it, if nobody foresaw that."""

    def _handle_exception(self, error: Exception) -> None:
        cause = error.error if isinstance(error, WorkerFailed) else error
        logger.critical("The screen ended", exc_info=cause)
        self.crash = self.crash or cause
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()

    def panic(self, *renderables: RenderableType) -> None:
        """Ends it; who runs it tells why. What it was would be told with values of variables."""
        del renderables
        self.crash = self.crash or RuntimeError("Textual gave up")
        self._close_messages_no_wait()
