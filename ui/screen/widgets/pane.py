"""A part of the screen, which shows the state and sends messages to the whole screen."""

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
    """Gets the state after events, at most a few times a second, and only while visible."""

    _drawn: tuple[object, ...] | None = None

    def show(self, state: ScreenState) -> None:
        """Draw what has changed; cheap if nothing has."""
        raise NotImplementedError

    def differs(self, *drawn: object) -> bool:
        """Whether the last call had other arguments, so that there is something to draw."""
        before, self._drawn = self._drawn, drawn
        return before != drawn


@dataclass
class ErrorOccurred(Message):
    """Something the user asked for failed."""

    error: AssistantError


@dataclass
class OpenTurn(Message):
    """Show a turn of this conversation with its context."""

    turn: int


@dataclass
class OpenMemory(Message):
    """Show a memory in full."""

    memory: str


@dataclass
class SettingsChanged(Message):
    """Settings were saved, or the assistant was restarted with them."""

    loaded: Loaded
    restarted: bool


@contextmanager
def reporting(sender: MessagePump) -> Iterator[None]:
    """An AssistantError ends the block and is shown to the user."""
    try:
        yield
    except AssistantError as error:
        sender.post_message(ErrorOccurred(error))


def in_sight(widget: Widget) -> bool:
    """Whether the widget and everything that contains it are displayed."""
    return all(node.display for node in widget.ancestors_with_self)
