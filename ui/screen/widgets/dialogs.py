"""Small windows: a text, a question, a line of input."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, Static


class TextDialog(ModalScreen[None]):
    """A title and a text to scroll through."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "Close", id="dialog.close"),
        Binding("y", "copy", "Copy", id="dialog.copy"),
        Binding("j,down", "scroll('down')", "Down", show=False, id="dialog.down"),
        Binding("k,up", "scroll('up')", "Up", show=False, id="dialog.up"),
    ]
    DEFAULT_CSS = """
    TextDialog { align: center middle; }
    TextDialog > VerticalScroll {
        width: 90%; max-width: 110; height: auto; max-height: 90%;
        border: round $primary; background: $surface; padding: 0 1;
    }
    """

    def __init__(self, title: str, text: Text | str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        box = VerticalScroll(Static(self._text, markup=False))
        box.border_title = self._title
        box.border_subtitle = "esc closes · y copies"
        yield box

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(str(self._text))
        self.notify("Copied.")

    def action_scroll(self, where: str) -> None:
        box = self.query_one(VerticalScroll)
        box.scroll_relative(y=1 if where == "down" else -1, animate=False)


class Confirm(ModalScreen[bool]):
    """Asks before something irreversible; the focus is on Cancel."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n", "answer(False)", "Cancel", id="dialog.no"),
        Binding("y", "answer(True)", "Do it", id="dialog.yes"),
        Binding("left,right", "app.focus_next", show=False, id="dialog.other"),
    ]
    DEFAULT_CSS = """
    Confirm { align: center middle; }
    Confirm > Vertical {
        width: 70; max-width: 95%; height: auto; max-height: 90%;
        border: round $error; background: $surface; padding: 1 2;
    }
    Confirm Horizontal { height: auto; align-horizontal: right; margin-top: 1; }
    Confirm Button { margin-left: 2; }
    """

    def __init__(self, question: str, details: str = "", do: str = "Forget") -> None:
        super().__init__()
        self._question = question
        self._details = details
        self._do = do

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label(self._question, markup=False)
            if self._details:
                yield Static(self._details, markup=False)
            with Horizontal():
                yield Button("Cancel", id="cancel")
                yield Button(self._do, variant="error", id="do")

    def on_mount(self) -> None:
        self.query_one("#cancel", Button).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "do")

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)


class LineDialog(ModalScreen[str | None]):
    """One line of input; None if it is cancelled or empty."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Cancel", id="dialog.cancel")
    ]
    DEFAULT_CSS = """
    LineDialog { align: center middle; }
    LineDialog > Vertical {
        width: 90%; max-width: 90; height: auto;
        border: round $primary; background: $surface; padding: 0 1;
    }
    """

    def __init__(self, title: str, value: str = "", hint: str = "") -> None:
        super().__init__()
        self._title = title
        self._value = value
        self._hint = hint

    def compose(self) -> ComposeResult:
        box = Vertical(Input(self._value, placeholder=self._hint, select_on_focus=False))
        box.border_title = self._title
        box.border_subtitle = "enter saves · esc cancels"
        yield box

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip() or None)
