"""The tab that shows timers, alarms, reminders, lists and notes, and where they are changed."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from assistant.events import StateEntry
from assistant.ipc import Row
from ui.screen.organiser.sections import Kept, Section, sections, ticking
from ui.screen.widgets.dialogs import LineDialog
from ui.screen.widgets.lists import Rows
from ui.screen.widgets.pane import Pane, in_sight, reporting
from ui.session.session import Session
from ui.session.state import ScreenState
from ui.text.state import DONE, OPEN, left_words, words
from ui.text.terminal_safe import plain

EMPTY = (
    "Timers, alarms, reminders, lists and notes appear here. Say “set a timer for ten minutes” or "
    "“put milk on my shopping list”, or press a for an item, n for a note, L for a list."
)
FIRST_LIST = "shopping"
"""Name of the list for the first item, if there is no list yet."""
TICK_S = 1.0


class OrganiserTab(Pane):
    """Shows everything in one list, so that it needs no more than a narrow terminal.

    Args:
        now: returns the current local time.
    """

    DEFAULT_CSS = "OrganiserTab { height: 1fr; } OrganiserTab Rows { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "tick", "Tick off", id="organiser.tick"),
        Binding("d,delete", "remove", "Remove", id="organiser.remove"),
        Binding("a", "add_item", "Add item", id="organiser.add_item"),
        Binding("n", "add_note", "Note", id="organiser.add_note"),
        Binding("L", "add_list", "New list", show=False, id="organiser.add_list"),
        Binding("e", "edit", "Edit", id="organiser.edit"),
        Binding("u", "undo", "Undo", show=False, id="organiser.undo"),
    ]

    def __init__(self, session: Session, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._session = session
        self._now = now
        self._kept: Kept = {}
        self._sections: list[Section] = []
        self._forgettings = 0
        self._removed: list[list[Row]] = []
        """What was removed here and can be brought back, by removal."""

    def compose(self) -> ComposeResult:
        yield Rows(markup=False)

    def on_mount(self) -> None:
        self._rows = self.query_one(Rows)
        self._clock = self.set_interval(TICK_S, self._tick, pause=True)
        self._draw()

    def show(self, state: ScreenState) -> None:
        if self._forgets(state):
            self._removed.clear()  # nobody brings back what is forgotten
        now = self._now()
        left = [left_words(each.content, now) for each in state.kept.get("timer", ())]
        if self.differs(dict(state.kept), now.date(), left):
            self._kept = dict(state.kept)
            self._sections = sections(self._kept)
            self._draw()
        if ticking(self._kept, now):
            self._clock.resume()

    def _forgets(self, state: ScreenState) -> bool:
        before, self._forgettings = self._forgettings, len(state.forgettings)
        return before != self._forgettings

    # -- drawing --------------------------------------------------------------------------------

    def _tick(self) -> None:
        """Count down. Pauses once nothing runs, and while nobody sees it."""
        if not in_sight(self):
            self._clock.pause()
            return
        self._draw()
        if not ticking(self._kept, self._now()):
            self._clock.pause()

    def _draw(self) -> None:
        here = self._rows.here
        self._rows.refill(self._options())
        if here is not None and self._rows.here != here:
            ids = [option.id for option in self._rows.options]
            if here in ids:
                self._rows.highlighted = ids.index(here)

    def _options(self) -> Iterator[Option]:
        now = self._now()
        if not self._sections:
            yield Option(Text(EMPTY, style="dim"), disabled=True)
        for section in self._sections:
            yield Option(Text(section.heading, style="bold"), disabled=True)
            for kind, entry in section.rows:
                yield Option(_text(kind, entry, now), id=entry.id)

    @property
    def _here(self) -> tuple[str, StateEntry] | None:
        """The kind and the entry under the cursor, if any."""
        here = self._rows.here
        rows = (row for section in self._sections for row in section.rows)
        return next((row for row in rows if row[1].id == here), None)

    # -- keys -----------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_tick()

    def action_tick(self) -> None:
        if self._here is None or self._here[0] != "item":
            self.notify("Only items of a list can be ticked off.")
            return
        _, entry = self._here
        done = not entry.content.get("done")
        self._ask({"act": "state.change", "ids": [entry.id], "done": done})

    @work(group="organiser")
    async def action_remove(self) -> None:
        if self._here is None:
            return
        _, entry = self._here
        with reporting(self):
            gone = await self._session.ask({"act": "state.remove", "ids": [entry.id]})
            self._removed.append(gone)
            self.notify("Removed. The u key brings it back.")

    @work(group="organiser")
    async def action_undo(self) -> None:
        """Bring back what was removed last; without a removal, what was forgotten last."""
        if not self._removed:
            await self.app.run_action("undo")
            return
        with reporting(self):
            await self._session.ask({"act": "state.import", "rows": self._removed.pop()})
            self.notify("It is back.")

    @work(exclusive=True, group="dialog")
    async def action_add_item(self) -> None:
        name = self._list_name()
        text = await self.app.push_screen_wait(LineDialog(f"Put on the list {name}", hint="milk"))
        if text is not None:
            self._ask({"act": "state.add", "kind": "list", "name": name, "items": [text]})

    @work(exclusive=True, group="dialog")
    async def action_add_note(self) -> None:
        text = await self.app.push_screen_wait(LineDialog("Write a note"))
        if text is not None:
            self._ask({"act": "state.add", "kind": "note", "text": text})

    @work(exclusive=True, group="dialog")
    async def action_add_list(self) -> None:
        name = await self.app.push_screen_wait(LineDialog("Name of the new list"))
        if name is not None:
            self._ask({"act": "state.add", "kind": "list", "name": name})

    @work(exclusive=True, group="dialog")
    async def action_edit(self) -> None:
        if self._here is None or self._here[0] not in ("item", "note"):
            self.notify("Only items and notes can be edited. Ask the assistant for the rest.")
            return
        kind, entry = self._here
        before = str(entry.content.get("text", ""))
        text = await self.app.push_screen_wait(LineDialog(f"Edit this {kind}", before))
        if text is not None and text != before:
            self._ask({"act": "state.change", "ids": [entry.id], "text": text})

    @work(group="organiser")
    async def _ask(self, request: dict[str, Any]) -> None:
        with reporting(self):
            await self._session.ask(request)

    def _list_name(self) -> str:
        """Return the name of the list under the cursor, or else of the first list."""
        rows = [row for section in self._sections for row in section.rows]
        lists = {entry.id: str(entry.content["name"]) for kind, entry in rows if kind == "list"}
        here = self._here[1] if self._here is not None else None
        first = next(iter(lists.values()), FIRST_LIST)
        return lists.get(here.parent or here.id, first) if here is not None else first


def _text(kind: str, entry: StateEntry, now: datetime) -> Text:
    text = plain(words(kind, entry.content, now))
    if kind == "item":
        done = text.startswith(DONE)
        text = text.removeprefix(DONE).removeprefix(OPEN)
        return Text.assemble("    ", DONE if done else OPEN, (text, "dim strike" if done else ""))
    return Text(f"  {text}", style="cyan" if kind == "list" else "")
