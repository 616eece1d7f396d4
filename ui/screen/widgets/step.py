"""The common base of the steps before the first conversation."""

from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button

T = TypeVar("T")


class SetupStep(ModalScreen[T]):
    """A window with a title, a body and buttons; `enter` presses the focused button, and `escape`
    skips the step."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "skip", "Skip", id="step.skip"),
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
    """Selector of the button with the initial focus; by default the first."""

    def body(self) -> ComposeResult:
        raise NotImplementedError

    def buttons(self) -> list[Button]:
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        inside: list[Widget] = list(self.body())
        row = Horizontal(*self.buttons(), id="buttons")
        box = Vertical(*inside, row)
        box.border_title = self.HEADING
        box.border_subtitle = "enter continues · esc skips"
        yield box

    def on_mount(self) -> None:
        self.query(self.FOCUS).first().focus()

    def action_skip(self) -> None:
        raise NotImplementedError
