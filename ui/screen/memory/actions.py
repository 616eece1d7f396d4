"""Actions on memories wherever they are shown: the same keys, and the same requests that `assistant
memory` sends."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.worker import WorkType

from assistant.errors import AssistantError
from assistant.ipc import Row
from ui.screen.memory.forgetting_preview import SHOWN, details, question
from ui.screen.widgets.dialogs import Confirm, LineDialog
from ui.screen.widgets.messages import ErrorOccurred
from ui.session.session import Session

MEMORY_BINDINGS: list[BindingType] = [
    Binding("p", "pin", "Pin", id="memory.pin"),
    Binding("n", "never_recall", "Never recall", id="memory.never_recall"),
    Binding("e", "edit", "Edit", id="memory.edit"),
    Binding("w", "wrong", "Wrong", id="memory.wrong"),
    Binding("d,delete", "forget", "Forget", id="memory.forget"),
    Binding("D", "forget(True)", "Forget with its sources", show=False, id="memory.forget_sources"),
]


class MemoryActions(Widget):
    """Actions on the chosen memories."""

    BINDINGS: ClassVar[list[BindingType]] = MEMORY_BINDINGS
    session: Session

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._marking = asyncio.Lock()

    def work(self, do: Callable[[], Coroutine[None, None, None]], group: str) -> None:
        """Run it as a worker; work in progress of the same group is cancelled."""
        # A function: Python complains about a coroutine that never began.
        begun: WorkType[None] = do
        self.run_worker(begun, exclusive=True, group=group)

    async def asked(self, window: ModalScreen[Any]) -> Any:
        """The window's answer; None also if another window was faster."""
        return await self.app.push_screen_wait(window) if self.screen.is_current else None

    def chosen(self) -> list[str]:
        """Ids of the memories that an action applies to."""
        raise NotImplementedError

    def changed(self) -> None:
        """Called after an action was carried out."""

    def forgotten(self) -> None:
        """Called when the chosen memories are gone."""

    async def request(self, **request: Any) -> list[Row]:
        """Send a request; errors are shown, and give an empty answer."""
        try:
            return await self.session.ask(request)
        except AssistantError as error:
            self.post_message(ErrorOccurred(error))
            return []

    async def _row(self, ids: list[str]) -> Row | None:
        rows = await self.request(act="show", id=ids[0]) if ids else []
        return rows[0] if rows else None

    def _mark(self, do: Callable[[list[str]], Coroutine[None, None, None]]) -> None:
        """Mark the memories chosen now, after earlier requests to mark."""
        ids = self.chosen()

        async def in_turn() -> None:
            async with self._marking:
                await do(ids)

        begun: WorkType[None] = in_turn
        self.run_worker(begun, group="mark")

    async def _marked(self, ids: list[str], **marks: Any) -> bool:
        """Set these marks on all of them; returns whether it worked."""
        done = True
        for key in ids:
            done = bool(await self.request(act="mark", id=key, **marks))
            if not done:
                break
        self.changed()
        return done

    def action_pin(self) -> None:
        self._mark(self._pin)

    async def _pin(self, ids: list[str]) -> None:
        """Pin all of them, or unpin them if the first is pinned."""
        row = await self._row(ids)
        if row is not None and await self._marked(ids, pinned=not row["pinned"]):
            self.notify("No longer pinned." if row["pinned"] else "Pinned.")

    def action_never_recall(self) -> None:
        self._mark(self._never_recall)

    async def _never_recall(self, ids: list[str]) -> None:
        row = await self._row(ids)
        if row is not None and await self._marked(ids, never_recall=not row["never_recall"]):
            again = "Can be recalled again."
            self.notify(again if row["never_recall"] else "Never recalled from now on.")

    def action_wrong(self) -> None:
        self._mark(self._wrong)

    async def _wrong(self, ids: list[str]) -> None:
        if ids and await self._marked(ids, feedback=-1):
            self.notify("Noted: it should not have come up.")

    def action_edit(self) -> None:
        self.work(self._edit, "edit")

    async def _edit(self) -> None:
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

    def action_forget(self, sources: bool = False) -> None:
        """Forget the chosen memories.

        Args:
            sources: also forget the exchanges that derived memories are based on.
        """
        self.work(partial(self._forget, sources), "forget")

    async def _forget(self, sources: bool) -> None:
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
            self.notify(f"Forgotten.{' u undoes it, for a while.' if undoable else ''}")
            self.forgotten()
            self.changed()
