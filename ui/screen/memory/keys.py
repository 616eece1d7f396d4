"""The keys of the memory tab that open a dialog or show another memory or tab."""

import asyncio
from datetime import datetime
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType

from ui.screen.memory.actions import MemoryActions
from ui.screen.memory.detail import MemoryDetail, of_this_conversation
from ui.screen.memory.forgetting import ReceiptsDialog
from ui.screen.memory.source import Source
from ui.screen.memory.table import MemoryList
from ui.screen.widgets.dialogs import LineDialog
from ui.screen.widgets.pane import OpenTurn, reporting
from ui.session.state import ScreenState
from ui.text import export
from ui.text.forgetting import lines, memories

EXPORT_TO = "~/memories-{:%Y-%m-%d}.jsonl"
NOTHING_BESIDE = {
    "before": "Nothing was said before it.",
    "after": "Nothing was said after it.",
    "replaced": "It replaced no other memory.",
    "replaced_by": "It has not been replaced.",
}


class MemoryKeys(MemoryActions):
    """Base class of the memory tab, with these keys and most of their actions.

    The memory tab has the other actions, sets the attributes, and overrides `load` and `open`.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "add", "Add", id="memory.add"),
        Binding("f", "filter", "Filter", id="memory.filter"),
        Binding("F", "no_filter", "No filter", show=False, id="memory.no_filter"),
        Binding("ctrl+t", "way", "Recall or plain text", show=False, id="memory.way"),
        Binding("ctrl+a", "choose_all", "Select all", show=False, id="memory.choose_all"),
        Binding("T", "turn", "Go to the turn", show=False, id="memory.turn"),
        Binding("h", "beside('before')", "What was said before", show=False, id="memory.before"),
        Binding("l", "beside('after')", "What was said after", show=False, id="memory.after"),
        Binding("[", "beside('replaced')", "What it replaces", show=False, id="memory.older"),
        Binding("]", "beside('replaced_by')", "What replaced it", show=False, id="memory.newer"),
        Binding("R", "receipts", "Receipts", id="memory.receipts"),
        Binding("E", "export", "Export", show=False, id="memory.export"),
        Binding("y", "copy", "Copy the memory", show=False, id="memory.copy"),
        Binding("u", "undo", "Undo", show=False, id="memory.undo"),
        Binding("escape", "back", "Back", show=False, id="memory.back"),
    ]
    source: Source
    state: ScreenState
    table: MemoryList
    detail: MemoryDetail

    def load(self, around: str | None = None, *, anew: bool = False) -> None:
        """Load the rows of the table and put the cursor on the memory `around`.

        With `anew`, put the cursor on the first row instead.
        """
        raise NotImplementedError

    def open(self, memory: str) -> None:
        """Show all details of one memory."""
        raise NotImplementedError

    @work(exclusive=True, group="dialog")
    async def action_add(self) -> None:
        dialog = LineDialog("Write down something to remember", hint="My sister lives in Lisbon.")
        text = await self.asked(dialog)
        if text is not None and (rows := await self.request(act="add", text=text)):
            self.notify("Remembered.")
            self.load(rows[0]["id"])

    def action_turn(self) -> None:
        turn = of_this_conversation(self.detail.row or {}, self.state.turns)
        if turn is None:
            self.notify("It was not said in this conversation.")
        else:
            self.post_message(OpenTurn(turn.number))

    def action_beside(self, which: str) -> None:
        other = (self.detail.row or {}).get(which)
        if isinstance(other, list):
            other = other[-1] if other else None
        if other is None:
            self.notify(NOTHING_BESIDE[which])
        else:
            self.open(other["id"])

    @work(exclusive=True, group="dialog")
    async def action_receipts(self) -> None:
        with reporting(self):
            rows = await self.session.ask({"act": "receipts"})
            receipts = [row["receipt"] for row in rows if row["event"] == "receipt"]
            await self.asked(ReceiptsDialog(receipts))

    @work(exclusive=True, group="dialog")
    async def action_export(self) -> None:
        path = await self.asked(
            LineDialog("Export all memories to", EXPORT_TO.format(datetime.now().astimezone()))
        )
        if path is None:
            return
        with reporting(self):
            rows = await self.session.ask({"act": "export", **self.source.filters.whose})
            count = await asyncio.to_thread(export.write, rows, export.expanded_path(path))
            self.notify(f"{memories(count)} written to {path}.")

    def action_copy(self) -> None:
        row = self.detail.row or self.table.here
        if row is not None:
            self.app.copy_to_clipboard(row["text"])
            self.notify("Copied the memory.")

    async def action_undo(self) -> None:
        if rows := await self.request(act="undo"):
            self.notify(" ".join(lines(rows[0])))
