"""Base classes of dialogs, and dialogs that show a text or ask for an answer."""

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from ui.screen.widgets.keys import keys_of
from ui.screen.widgets.lists import Listing

T = TypeVar("T")
CANCEL = Binding("escape", "dismiss", "Cancel", id="dialog.cancel")


class Dialog(ModalScreen[T]):
    """Base class of dialogs: a frame in the middle of the screen.

    By default, the result of a cancelled dialog is None.

    Args:
        heading: title of the frame.
    """

    DEFAULT_CSS = """
    Dialog { align: center middle; }
    Dialog > .frame {
        width: 90%; max-width: 70; height: auto; max-height: 90%;
        border: round $primary; background: $surface; padding: 0 1;
    }
    Dialog Listing { height: auto; max-height: 100%; }
    """
    HINT: ClassVar[str] = ""
    """The keys of the dialog, shown on the lower edge of the frame. See `keys_of`."""
    FRAME: ClassVar[type[Widget]] = Vertical

    def __init__(self, heading: str = "") -> None:
        super().__init__()
        self._heading = heading

    def body(self) -> ComposeResult:
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        frame = self.FRAME(*self.body(), classes="frame")
        frame.border_title = self._heading
        frame.border_subtitle = self.HINT.format(key=keys_of(self))
        yield frame


class TextDialog(Dialog[None]):
    """Shows a text that the user can scroll and copy."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "Close", id="dialog.close"),
        Binding("y", "copy", "Copy", id="dialog.copy"),
        Binding("j,down", "scroll(1)", "Down", show=False, id="dialog.down"),
        Binding("k,up", "scroll(-1)", "Up", show=False, id="dialog.up"),
    ]
    DEFAULT_CSS = "TextDialog > .frame { max-width: 110; }"
    HINT = "{key[dialog.close]} closes · {key[dialog.copy]} copies"
    FRAME = VerticalScroll

    def __init__(self, heading: str, text: str) -> None:
        super().__init__(heading)
        self._text = text

    def body(self) -> ComposeResult:
        yield Static(self._text, markup=False)

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._text)
        self.notify("Copied.")

    def action_scroll(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


class Confirm(Dialog[bool]):
    """Asks for confirmation before an action that deletes something.

    The Cancel button has the focus, so that `enter` cancels.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n", "dismiss(False)", "Cancel", id="dialog.no"),
        Binding("y", "dismiss(True)", "Do it", id="dialog.yes"),
        Binding("left,right", "app.focus_next", show=False, id="dialog.other"),
    ]
    DEFAULT_CSS = """
    Confirm > .frame { width: 70; max-width: 95%; border: round $error; padding: 1 2; }
    Confirm Horizontal { height: auto; align-horizontal: right; margin-top: 1; }
    Confirm Button { margin-left: 2; }
    """

    def __init__(self, question: str, details: str, do: str = "Forget") -> None:
        super().__init__()
        self._question = question
        self._details = details
        self._do = do

    def body(self) -> ComposeResult:
        yield Label(self._question, markup=False)
        yield Static(self._details, markup=False)
        cancel, do = Button("Cancel", id="cancel"), Button(self._do, variant="error", id="do")
        yield Horizontal(cancel, do)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "do")


class LineDialog(Dialog[str | None]):
    """Asks for one line of input. The result is None if the line is empty.

    Args:
        check: returns a sentence that says what is wrong with the line, or None. If the line is
            wrong, the dialog stays open and shows the sentence below the line.
    """

    BINDINGS: ClassVar[list[BindingType]] = [CANCEL]
    DEFAULT_CSS = """
    LineDialog > .frame { max-width: 90; }
    LineDialog #wrong { display: none; height: auto; padding: 0 1; color: $text-warning; }
    """
    HINT = "enter saves · {key[dialog.cancel]} cancels"

    def __init__(
        self,
        heading: str,
        value: str = "",
        hint: str = "",
        check: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        super().__init__(heading)
        self._value = value
        self._hint = hint
        self._check = check

    def body(self) -> ComposeResult:
        yield Input(self._value, placeholder=self._hint, select_on_focus=False)
        yield Static(id="wrong", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        line = event.value.strip()
        wrong = self._check(line) if line else None
        if wrong is None:
            self.dismiss(line or None)
            return
        told = self.query_one("#wrong", Static)
        told.update(wrong)
        told.display = True


class ChooseDialog(Dialog[str | None]):
    """Asks the user to choose one of several values."""

    BINDINGS: ClassVar[list[BindingType]] = [CANCEL]
    DEFAULT_CSS = "ChooseDialog > .frame { max-height: 80%; }"
    HINT = "enter chooses · {key[dialog.cancel]} cancels"

    def __init__(self, heading: str, values: Sequence[str], current: str) -> None:
        super().__init__(heading)
        self._values = values
        self._current = current

    def body(self) -> ComposeResult:
        marks = ("●" if value == self._current else " " for value in self._values)
        prompts = (f"{mark} {value}" for mark, value in zip(marks, self._values, strict=True))
        listing = Listing(*(Option(prompt) for prompt in prompts), markup=False)
        known = self._current in self._values
        listing.highlighted = self._values.index(self._current) if known else 0
        yield listing

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._values[event.option_index])


class SetupStep(Dialog[T]):
    """Base class of the steps before the first conversation.

    The key `enter` presses the focused button, and `escape` skips the step.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "skip", "Skip", id="step.skip"),
        Binding("left", "app.focus_previous", show=False, id="step.previous"),
        Binding("right", "app.focus_next", show=False, id="step.next"),
    ]
    DEFAULT_CSS = """
    SetupStep > .frame { width: 76; max-width: 98%; max-height: 98%; }
    SetupStep Static { height: auto; margin-bottom: 1; }
    SetupStep #buttons { height: auto; align-horizontal: right; }
    SetupStep Button { margin-left: 2; }
    """
    HINT = "enter continues · {key[step.skip]} skips"
    AUTO_FOCUS = "Button"

    def action_skip(self) -> None:
        raise NotImplementedError
