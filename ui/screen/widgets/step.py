"""What the steps before the first conversation have in common."""

from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button

T = TypeVar("T")


class SetupStep(ModalScreen[T]):
    """A window with a title, what it is about, and buttons; `enter` presses the one with the focus,
    and `escape` leaves the step out."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "skip", "Leave out", id="step.skip"),
        Binding("left", "app.focus_previous", show=False, id="step.previous"),
        Binding("right", "app.focus_next", show=False, id="step.next"),
    ]
    DEFAULT_CSS = """
    SetupStep { align: center middle; }
    SetupStep > Vertical {
        width: 76; max-width: 98%; height: auto; max-height: 98%;
        border: round $primary; background: $surface; padding: 0 1;
    }
    SetupStep Static { height: auto; margin-bottom: 1; }
    SetupStep #buttons { height: auto; align-horizontal: right; }
    SetupStep Button { margin-left: 2; }
    """
    HEADING: ClassVar[str]
    FOCUS: ClassVar[str] = "Button"
    """Of the buttons, as a selector; the first by default."""

    def body(self) -> ComposeResult:
        raise NotImplementedError

    def buttons(self) -> list[Button]:
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        inside: list[Widget] = list(self.body())
        row = Horizontal(*self.buttons(), id="buttons")
        box = Vertical(*inside, row)
        box.border_title = self.HEADING
        box.border_subtitle = "enter goes on · esc leaves it out"
        yield box

    def on_mount(self) -> None:
        self.query(self.FOCUS).first().focus()

    def action_skip(self) -> None:
        raise NotImplementedError
