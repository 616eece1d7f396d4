"""Keys that act on memories, e.g. to pin or forget them.

The keys are the same in every widget that shows memories. They send the same requests as the
command `assistant memory`.
"""

import asyncio
from functools import cached_property
from typing import Any, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widget import Widget

from assistant.errors import AssistantError
from assistant.ipc import Row
from ui.screen.memory.forgetting import SHOWN, details, question
from ui.screen.widgets.dialogs import Confirm, LineDialog
from ui.screen.widgets.keys import keys_of
from ui.screen.widgets.pane import ErrorOccurred
from ui.session.session import Session

MARKED = {
    "pinned": ("Pinned.", "No longer pinned."),
    "never_recall": ("Never recalled from now on.", "Can be recalled again."),
}


class MemoryActions(Widget):
    """Base class of widgets whose keys act on the chosen memories."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "mark('pinned')", "Pin", id="memory.pin"),
        Binding("n", "mark('never_recall')", "Never recall", id="memory.never_recall"),
        Binding("e", "edit", "Edit", id="memory.edit"),
        Binding("w", "wrong", "Wrong", id="memory.wrong"),
        Binding("d,delete", "forget", "Forget", id="memory.forget"),
        Binding(
            "D", "forget(True)", "Forget with its sources", show=False, id="memory.forget_sources"
        ),
    ]
    session: Session

    @cached_property
    def _marking(self) -> asyncio.Lock:
        """Ensures that marks are set one at a time, in the order of the user's key presses."""
        return asyncio.Lock()

    async def asked(self, window: ModalScreen[Any]) -> Any:
        """Open a dialog and return its result; return None if another dialog is open already."""
        return await self.app.push_screen_wait(window) if self.screen.is_current else None

    def chosen(self) -> list[str]:
        """Return the ids of the memories that an action applies to."""
        raise NotImplementedError

    def changed(self) -> None:
        """Called after an action has changed memories."""

    def forgotten(self) -> None:
        """Called after the chosen memories have been forgotten."""

    async def request(self, **request: Any) -> list[Row]:
        """Send a request and return its answer; if it fails, show the error and return no rows."""
        try:
            return await self.session.ask(request)
        except AssistantError as error:
            self.post_message(ErrorOccurred(error))
            return []

    async def _row(self, ids: list[str]) -> Row | None:
        rows = await self.request(act="show", id=ids[0]) if ids else []
        return rows[0] if rows else None

    def action_mark(self, mark: str) -> None:
        self._toggle(self.chosen(), mark)

    def action_wrong(self) -> None:
        self._mark_as_wrong(self.chosen())

    @work(group="mark")
    async def _toggle(self, ids: list[str], mark: str) -> None:
        """Set a mark on all these memories, or remove the mark if the first memory has it."""
        async with self._marking:
            row = await self._row(ids)
            if row is not None and await self._marked(ids, **{mark: not row[mark]}):
                set_now, taken_off = MARKED[mark]
                self.notify(taken_off if row[mark] else set_now)

    @work(group="mark")
    async def _mark_as_wrong(self, ids: list[str]) -> None:
        async with self._marking:
            if ids and await self._marked(ids, feedback=-1):
                self.notify("Marked as wrongly recalled.")

    async def _marked(self, ids: list[str], **marks: Any) -> bool:
        """Set these marks on all these memories, and return whether all requests succeeded."""
        done = True
        for key in ids:
            done = bool(await self.request(act="mark", id=key, **marks))
            if not done:
                break
        self.changed()
        return done

    @work(exclusive=True, group="edit")
    async def action_edit(self) -> None:
        row = await self._row(self.chosen())
        if row is None:
            return
        if row["kind"] == "exchange":
            self.notify(
                "What was said can't be edited. Forget it, and add the correct text.",
                severity="warning",
            )
            return
        text = await self.asked(LineDialog("Edit this memory", row["text"]))
        changed = text is not None and text != row["text"]
        if changed and await self.request(act="edit", id=row["id"], text=text):
            self.changed()
            self.notify("Changed.")

    @work(exclusive=True, group="forget")
    async def action_forget(self, sources: bool = False) -> None:
        """Forget the chosen memories, if the user confirms.

        Args:
            sources: whether to also forget the exchanges that derived memories are based on.
        """
        ids = self.chosen()
        if not ids:
            return
        wish = {"act": "forget", "ids": ids, "with_sources": sources}
        key = keys_of(self)
        rows = await self.request(**wish, ask=True, limit=SHOWN)
        if rows and rows[-1]["event"] == "preview":
            if not await self.asked(Confirm(question(rows[-1]), details(rows, key))):
                return
            rows = await self.request(**wish, seen=rows[-1]["seen"])
        if rows:
            undoable = rows[0]["event"] == "forgetting"
            how = f" For a while, the {key['undo']} key brings it back." if undoable else ""
            self.notify(f"Forgotten.{how}")
            self.forgotten()
            self.changed()
