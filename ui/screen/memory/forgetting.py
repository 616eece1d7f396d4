"""The parts of the screen about forgetting: the question, the countdown and the receipts.

The question is asked before memories are forgotten. The countdown shows how long the deletion can
still be undone. A receipt lists the stores that were searched after the deletion, and the traces
found.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from assistant.ipc import Row
from ui.screen.memory.columns import what as kind_of
from ui.screen.widgets.dialogs import Dialog
from ui.screen.widgets.lists import Listing
from ui.text.forgetting import counted, memories, receipt_details, receipt_summary, what
from ui.text.terminal_safe import plain

SHOWN = 6
"""Maximum number of memories listed below the question."""
LONGEST = 60
"""Maximum number of characters shown of each listed memory."""
NO_RECEIPT = (
    "Once something is forgotten for good, its receipt appears here: which files were"
    " searched for it, and that nothing was found."
)


def question(preview: Row) -> str:
    return f"Forget {counted(preview['memories'], preview['exchanges'])}?"


def details(rows: Sequence[Row], key: Mapping[str, str]) -> str:
    """Return the text below the question: which memories will be forgotten, and which will change.

    Args:
        rows: the answer to a `forget` request with `ask`. Its last row, the `preview`, has the
            totals.
        key: the keys to name, as returned by `keys_of`.
    """
    *listed, preview = rows
    going = [row for row in listed if row["event"] == "going"]
    lines = [f"· {kind_of(row)}: {_short(row['text'])}" for row in going]
    if (more := preview["memories"] - len(going)) > 0:
        lines.append(f"  … and {memories(more)} more")
    if preview["derived"]:
        lines.append(f"{preview['derived']:,} of them were derived from what you are forgetting.")
    if preview["changing"]:
        lines.append(
            f"{memories(preview['changing'])} would stay, without the parts that came from what you"
            " are forgetting."
        )
    if preview["staying"]:
        lines.append(
            "The exchanges behind some of them stay in the transcript; "
            f"{key['memory.forget_sources']} forgets those too."
        )
    lines.append(
        f"For a while, the {key['undo']} key brings it back."
        if preview["undoable"]
        else "It is deleted at once, and can't be undone."
    )
    return "\n".join(lines)


def _short(text: str) -> str:
    line = " ".join(plain(text).split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def countdown(pending: Sequence[Row], now: datetime, undo: str) -> str:
    """Say how long the newest deletion can be undone; return an empty text if none is pending.

    Args:
        pending: the rows that the request `pending` returned, oldest first.
        undo: the key that undoes the deletion.
    """
    if not pending:
        return ""
    left = [(datetime.fromisoformat(each["due"]) - now).total_seconds() for each in pending]
    last, seconds = pending[-1], left[-1]
    if seconds <= 0:
        return f"Forgotten: {what(last)}; being deleted now"
    more = sum(1 for each in left[:-1] if each > 0)
    before = f" ({more} more waiting)" if more else ""
    time = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    return f"Forgotten: {what(last)}; gone for good in {time}, undo with {undo}{before}"


class ReceiptsDialog(Dialog[None]):
    """Lists all receipts, newest first, and shows the receipt under the cursor in full.

    A receipt says which stores were searched for deleted text, and whether any was found.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Close", id="dialog.close"),
        Binding("y", "copy", "Copy", id="dialog.copy"),
    ]
    DEFAULT_CSS = """
    ReceiptsDialog > .frame { max-width: 110; height: 90%; }
    ReceiptsDialog Listing { height: 1fr; }
    ReceiptsDialog VerticalScroll { height: 2fr; border-top: solid $primary; }
    ReceiptsDialog VerticalScroll > Static { height: auto; }
    """
    HINT = "{key[dialog.close]} closes · {key[dialog.copy]} copies"

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        super().__init__("Receipts of what was forgotten")
        self._receipts = rows
        self._shown = ""

    def body(self) -> ComposeResult:
        lines = (Text(plain(receipt_summary(each)), no_wrap=True) for each in self._receipts)
        yield Listing(*(Option(line) for line in lines))
        yield VerticalScroll(Static(NO_RECEIPT, markup=False), can_focus=False)

    def on_mount(self) -> None:
        self.query_one(Listing).display = bool(self._receipts)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        receipt = self._receipts[event.option_index]
        self._shown = "\n".join(map(plain, receipt_details(receipt)))
        self.query_one(Static).update(self._shown)

    def action_copy(self) -> None:
        if self._shown:
            self.app.copy_to_clipboard(self._shown)
            self.notify("Copied.")
