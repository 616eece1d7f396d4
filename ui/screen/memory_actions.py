"""What can be done to memories wherever they are shown: the same keys, the same requests as
`assistant memory` sends."""

from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from assistant.errors import AssistantError
from ui.screen.dialogs import Confirm, LineDialog
from ui.screen.messages import Trouble
from ui.session import Row, Session

MEMORY_BINDINGS: list[BindingType] = [
    Binding("p", "pin", "Pin", id="memory.pin"),
    Binding("n", "never_recall", "Never recall", id="memory.never_recall"),
    Binding("e", "edit", "Edit", id="memory.edit"),
    Binding("w", "wrong", "Wrong", id="memory.wrong"),
    Binding("d,delete", "forget", "Forget", id="memory.forget"),
]


class MemoryActions(Widget):
    """Actions on what `chosen` names. Of one at once, of several after a question."""

    BINDINGS: ClassVar[list[BindingType]] = MEMORY_BINDINGS
    session: Session

    def chosen(self) -> list[str]:
        """Ids of the memories that an action is about."""
        raise NotImplementedError

    def changed(self) -> None:
        """Called when an action was carried out."""

    async def request(self, **request: Any) -> list[Row]:
        """Ask; what goes wrong is told, and nothing is answered."""
        try:
            rows = await self.session.ask(request)
        except AssistantError as error:
            self.post_message(Trouble(error))
            return []
        self.changed()
        return rows

    async def _row(self) -> Row | None:
        ids = self.chosen()
        rows = await self.request(act="show", id=ids[0]) if ids else []
        return rows[0] if rows else None

    async def action_pin(self) -> None:
        row = await self._row()
        if row is None:
            return
        pinned = not row["pinned"]
        if await self.request(act="mark", id=row["id"], pinned=pinned):
            self.notify("Pinned." if pinned else "No longer pinned.")

    async def action_never_recall(self) -> None:
        row = await self._row()
        if row is None:
            return
        never = not row["never_recall"]
        if await self.request(act="mark", id=row["id"], never_recall=never):
            self.notify("Never recalled from now on." if never else "Recalled where it fits.")

    async def action_wrong(self) -> None:
        for key in self.chosen()[:1]:
            if await self.request(act="mark", id=key, feedback=-1):
                self.notify("Noted: it should not have come up.")

    def action_edit(self) -> None:
        self.run_worker(self._edit(), exclusive=True, group="edit")

    async def _edit(self) -> None:
        row = await self._row()
        if row is None:
            return
        text = await self.app.push_screen_wait(LineDialog("Edit this memory", row["text"]))
        changed = text is not None and text != row["text"]
        if changed and await self.request(act="edit", id=row["id"], text=text):
            self.notify("Changed.")

    def action_forget(self) -> None:
        self.run_worker(self._forget(), exclusive=True, group="forget")

    async def _forget(self) -> None:
        ids = self.chosen()
        if not ids:
            return
        if len(ids) > 1:
            question = f"Forget these {len(ids)} memories, and what was said around them?"
            if not await self.app.push_screen_wait(Confirm(question)):
                return
        if await self.request(act="forget", ids=ids):
            self.notify("Forgotten. u brings it back while there is time.")
