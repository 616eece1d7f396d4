"""A line that filters what is shown while typing; hidden until it is needed."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input


class FilterLine(Input):
    """`enter` goes to the results, `esc` shows everything again."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Show all", id="filter.leave"),
        Binding("enter,down", "submit", "To the list", id="filter.go"),
    ]
    DEFAULT_CSS = """
    FilterLine { display: none; height: 1; border: none; padding: 0 1; }
    FilterLine:focus { border: none; }
    """

    class Left(Message):
        """The line was closed and is empty."""

    def __init__(self, placeholder: str) -> None:
        super().__init__(placeholder=placeholder, compact=True)

    @property
    def words(self) -> list[str]:
        """Words that must all occur in what is shown."""
        return self.value.casefold().split()

    def open(self) -> None:
        """Open with focus at once, since the next keys are meant for it."""
        self.display = True
        self.screen.set_focus(self)

    def action_leave(self) -> None:
        self.clear()
        self.display = False
        self.post_message(self.Left())


def focus_later(widget: Widget) -> None:
    """Focus it after the current key has been handled."""
    widget.call_after_refresh(widget.focus)
