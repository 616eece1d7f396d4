"""A line that narrows what is shown as it is typed; out of the way until it is wanted."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input


class FilterLine(Input):
    """`enter` goes on to what is left, `esc` shows all again."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Show all", id="filter.leave"),
        Binding("enter,down", "submit", "To the list", id="filter.go"),
    ]
    DEFAULT_CSS = """
    FilterLine { display: none; height: 1; border: none; padding: 0 1; }
    FilterLine:focus { border: none; }
    """

    class Left(Message):
        """The line was closed, and is empty."""

    def __init__(self, placeholder: str) -> None:
        super().__init__(placeholder=placeholder, compact=True)

    @property
    def words(self) -> list[str]:
        """All of which have to be in what is shown."""
        return self.value.casefold().split()

    def open(self) -> None:
        """With the focus at once: what is typed next is meant for it."""
        self.display = True
        self.screen.set_focus(self)

    def action_leave(self) -> None:
        self.clear()
        self.display = False
        self.post_message(self.Left())


def focus_later(widget: Widget) -> None:
    """Once the key that asks for it has had its effect."""
    widget.call_after_refresh(widget.focus)
