"""The base class of widgets that draw the state, and the messages they send to the app."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from textual.message import Message
from textual.message_pump import MessagePump
from textual.widget import Widget

from assistant.errors import AssistantError
from assistant.settings import Loaded
from ui.session.state import ScreenState


class Pane(Widget):
    """Base class of widgets that draw the state.

    While a pane is visible, the app calls `show` after events, at most 15 times a second.
    """

    _drawn: tuple[object, ...] | None = None

    def show(self, state: ScreenState) -> None:
        """Draw the parts of the state that have changed. Must be cheap if none has changed."""
        raise NotImplementedError

    def differs(self, *drawn: object) -> bool:
        """Whether the previous call had other arguments, so that the pane must be drawn again."""
        before, self._drawn = self._drawn, drawn
        return before != drawn


@dataclass
class ErrorOccurred(Message):
    """Sent when an action of the user has failed."""

    error: AssistantError


@dataclass
class OpenTurn(Message):
    """Asks the app to show a turn of this conversation with its prompt and memories."""

    turn: int


@dataclass
class OpenMemory(Message):
    """Asks the app to show all details of a memory."""

    memory: str


@dataclass
class SettingsChanged(Message):
    """Sent when settings have been saved, or when the assistant is restarted with them."""

    loaded: Loaded
    restarted: bool


@contextmanager
def reporting(sender: MessagePump) -> Iterator[None]:
    """End the block if it raises an AssistantError, and show that error to the user."""
    try:
        yield
    except AssistantError as error:
        sender.post_message(ErrorOccurred(error))


def in_sight(widget: Widget) -> bool:
    """Whether the widget and all widgets that contain it are displayed."""
    return all(node.display for node in widget.ancestors_with_self)
