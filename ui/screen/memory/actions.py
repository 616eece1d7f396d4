"""Actions on memories: the keys are the same wherever memories are shown, and the requests are
those of `assistant memory`."""

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
from ui.screen.widgets.pane import ErrorOccurred
from ui.session.session import Session

MARKED = {
    "pinned": ("Pinned.", "No longer pinned."),
    "never_recall": ("Never recalled from now on.", "Can be recalled again."),
}


class MemoryActions(Widget):
    """Actions on the chosen memories."""

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
        """Lets marks be set one at a time, in the order in which the user asked for them."""
        return asyncio.Lock()

    async def asked(self, window: ModalScreen[Any]) -> Any:
        """The dialog's answer; None also if another dialog opened first."""
        return await self.app.push_screen_wait(window) if self.screen.is_current else None

    def chosen(self) -> list[str]:
        """Ids of the memories that an action applies to."""
        raise NotImplementedError

    def changed(self) -> None:
        """Called after an action was carried out."""

    def forgotten(self) -> None:
        """Called after the chosen memories were forgotten."""

    async def request(self, **request: Any) -> list[Row]:
        """Send a request; an error is shown, and the answer is then empty."""
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
        """Set the mark on all these memories, or remove it from all if the first has it."""
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
        """Set these marks on all these memories; returns whether that worked."""
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
        """Forget the chosen memories.

        Args:
            sources: also forget the exchanges that derived memories are based on.
        """
        ids = self.chosen()
        if not ids:
            return
        wish = {"act": "forget", "ids": ids, "with_sources": sources}
        rows = await self.request(**wish, ask=True, limit=SHOWN)
        if rows and rows[-1]["event"] == "preview":
            if not await self.asked(Confirm(question(rows[-1]), details(rows))):
                return
            rows = await self.request(**wish, seen=rows[-1]["seen"])
        if rows:
            undoable = rows[0]["event"] == "forgetting"
            self.notify(
                f"Forgotten.{' For a while, the u key brings it back.' if undoable else ''}"
            )
            self.forgotten()
            self.changed()
