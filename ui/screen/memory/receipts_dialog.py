"""The receipts of deletions: which stores were searched, and what was found."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ui.screen.widgets.listing import Listing
from ui.text.forgetting import receipt_details, receipt_summary
from ui.text.terminal_safe import plain

EMPTY = (
    "Once something is forgotten for good, its receipt appears here: which files were"
    " searched for it, and that nothing was found."
)


class ReceiptsDialog(ModalScreen[None]):
    """All receipts, newest first, and the one under the cursor in full."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Close", id="dialog.close"),
        Binding("y", "copy", "Copy", id="dialog.copy"),
    ]
    DEFAULT_CSS = """
    ReceiptsDialog { align: center middle; }
    ReceiptsDialog > Vertical {
        width: 90%; max-width: 110; height: 90%;
        border: round $primary; background: $surface; padding: 0 1;
    }
    ReceiptsDialog Listing { height: 1fr; }
    ReceiptsDialog VerticalScroll { height: 2fr; border-top: solid $primary; }
    ReceiptsDialog VerticalScroll > Static { height: auto; }
    """

    def __init__(self, receipts: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self._receipts = receipts
        self._shown = ""

    def compose(self) -> ComposeResult:
        lines = (Text(plain(receipt_summary(each)), no_wrap=True) for each in self._receipts)
        box = Vertical(
            Listing(*(Option(line) for line in lines)),
            VerticalScroll(Static(EMPTY, markup=False), can_focus=False),
        )
        box.border_title = "Receipts of what was forgotten"
        box.border_subtitle = "esc closes · y copies"
        yield box

    def on_mount(self) -> None:
        listing = self.query_one(Listing)
        listing.display = bool(self._receipts)
        listing.focus()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self._shown = "\n".join(map(plain, receipt_details(self._receipts[event.option_index])))
        self.query_one(Static).update(self._shown)

    def action_copy(self) -> None:
        if self._shown:
            self.app.copy_to_clipboard(self._shown)
            self.notify("Copied.")
