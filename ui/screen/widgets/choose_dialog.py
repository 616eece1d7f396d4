"""A small window for choosing one of several options."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ui.screen.widgets.listing import Listing


class ChooseDialog(ModalScreen[str | None]):
    """Returns None if cancelled. `options` are pairs of a value and its text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Cancel", id="dialog.cancel")
    ]
    DEFAULT_CSS = """
    ChooseDialog { align: center middle; }
    ChooseDialog > Vertical {
        width: 90%; max-width: 70; height: auto; max-height: 80%;
        border: round $primary; background: $surface; padding: 0 1;
    }
    ChooseDialog Listing { height: auto; max-height: 100%; }
    """

    def __init__(self, title: str, options: Sequence[tuple[str, str]], current: str) -> None:
        super().__init__()
        self._heading = title
        self._options = options
        self._current = current

    def compose(self) -> ComposeResult:
        values = [value for value, _ in self._options]
        listing = Listing(
            *(
                Option(f"{'●' if value == self._current else ' '} {text}")
                for value, text in self._options
            ),
            markup=False,
        )
        listing.highlighted = values.index(self._current) if self._current in values else 0
        box = Vertical(listing)
        box.border_title = self._heading
        box.border_subtitle = "enter chooses · esc cancels"
        yield box

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._options[event.option_index][0])
