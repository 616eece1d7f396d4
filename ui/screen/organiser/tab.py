"""The tab in which the user sees and changes timers, lists, forms and the like."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from assistant.events import StateEntry
from assistant.forms import FormLibrary, Slot, Value, read
from assistant.ipc import Row
from ui.screen.organiser.lines import lines
from ui.screen.organiser.sections import Forms, Kept, Section, definition, sections, ticking
from ui.screen.widgets.dialogs import LineDialog
from ui.screen.widgets.keys import keys_of, when_keys_change
from ui.screen.widgets.lists import Listing
from ui.screen.widgets.pane import Pane, in_sight, reporting
from ui.session.session import Session
from ui.session.state import ScreenState
from ui.text import export
from ui.text.forms import answer_to_edit, markdown, what_fits
from ui.text.state import left_words, settled_words
from ui.text.terminal_safe import plain

EMPTY = (
    "Timers, alarms, reminders, forms, plans, lists and notes appear here. Say “set a timer for "
    "ten minutes” or “put milk on my shopping list”, or press {key[organiser.add_item]} for an "
    "item, {key[organiser.add_note]} for a note, {key[organiser.add_list]} for a list."
)
EXPORT_TO = "~/{}-{:%Y-%m-%d}.md"
TEXTS = ("item", "note", "line")
"""Kinds of entries that consist of a text."""
FIRST_LIST = "shopping"
"""Name of the list for the first item, if there is no list yet."""
TICK_S = 1.0


class OrganiserTab(Pane):
    """Shows everything in one list, so that a narrow terminal is wide enough.

    Args:
        now: returns the current local time.
        library: the definitions of forms.
    """

    DEFAULT_CSS = "OrganiserTab { height: 1fr; } OrganiserTab Listing { padding: 0 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "tick", "Tick off", id="organiser.tick"),
        Binding("d,delete", "remove", "Remove", id="organiser.remove"),
        Binding("a", "add_item", "Add item", id="organiser.add_item"),
        Binding("n", "add_note", "Note", id="organiser.add_note"),
        Binding("L", "add_list", "New list", show=False, id="organiser.add_list"),
        Binding("e", "edit", "Edit", id="organiser.edit"),
        Binding("E", "export", "Export form", show=False, id="organiser.export"),
        Binding("u", "undo", "Undo", show=False, id="organiser.undo"),
    ]

    def __init__(self, session: Session, now: Callable[[], datetime], library: FormLibrary) -> None:
        super().__init__()
        self._session = session
        self._now = now
        self._library = library
        self._kept: Kept = {}
        self._forms: Forms = {}
        self._sections: list[Section] = []
        self._forgettings = 0
        self._removed: list[list[Row]] = []
        """The removed rows: one list for each removal that can be undone, oldest first."""

    def compose(self) -> ComposeResult:
        yield Listing(markup=False)

    def on_mount(self) -> None:
        self._rows = self.query_one(Listing)
        self._clock = self.set_interval(TICK_S, self._tick, pause=True)
        when_keys_change(self, self._name_keys)

    def show(self, state: ScreenState) -> None:
        if self._forgets(state):
            self._removed.clear()  # what is forgotten must not come back
        now = self._now()
        left = [left_words(each.content, now) for each in state.kept.get("timer", ())]
        if self.differs(dict(state.kept), now.date(), left):
            self._kept = dict(state.kept)
            forms = self._library.forms() if self._kept.get("form") else ()
            self._forms = {each.key: each for each in forms}
            self._sections = sections(self._kept, self._forms, now)
            self._draw()
        if ticking(self._kept, now):
            self._clock.resume()

    def _forgets(self, state: ScreenState) -> bool:
        before, self._forgettings = self._forgettings, len(state.forgettings)
        return before != self._forgettings

    # -- drawing --------------------------------------------------------------------------------

    def _tick(self) -> None:
        """Redraw the remaining times. Pauses once no timer is running, and while the tab is
        hidden."""
        if not in_sight(self):
            self._clock.pause()
            return
        self._draw()
        if not ticking(self._kept, self._now()):
            self._clock.pause()

    def _name_keys(self) -> None:
        if not self._sections:
            self._draw()

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
            yield Option(Text(EMPTY.format(key=keys_of(self)), style="dim"), disabled=True)
        for section in self._sections:
            yield Option(Text(section.heading, style="bold"), disabled=True)
            for key, line in lines(section, self._kept, self._forms, now):
                yield Option(line, id=key)

    @property
    def _here(self) -> tuple[str, StateEntry] | None:
        """The kind and the entry under the cursor, if any."""
        here = self._rows.here
        rows = (row for section in self._sections for row in section.rows)
        return next((row for row in rows if row[1].id == here), None)

    # -- keys -----------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Do what the key `enter` does: tick off an item, or edit any other entry."""
        event.stop()
        if self._here is not None and self._here[0] == "item":
            self.action_tick()
        else:
            self.action_edit()

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
        if self._is_empty(entry):
            self.notify("There is nothing to remove here.")
            return
        with reporting(self):
            gone = await self._session.ask({"act": "state.remove", "ids": [entry.id]})
            self._removed.append(gone)
            key = keys_of(self)["organiser.undo"]
            self.notify(f"Removed. The {key} key brings it back.")

    @work(group="organiser")
    async def action_undo(self) -> None:
        """Undo the last removal; if there is none, undo the last request to forget."""
        if not self._removed:
            await self.app.run_action("undo")
            return
        with reporting(self):
            await self._session.ask({"act": "state.import", "rows": self._removed.pop()})
            self.notify("It is back.")

    @work(exclusive=True, group="dialog")
    async def action_add_item(self) -> None:
        name = self._list_name()
        dialog = LineDialog(f"Add an item to the list “{name}”", hint="milk")
        text = await self.app.push_screen_wait(dialog)
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
        if self._here is None:
            return
        kind, entry = self._here
        if kind == "slot":
            await self._edit_slot(entry)
        elif kind in TEXTS:
            text = str(entry.content.get("text", ""))
            before = settled_words(entry.content, self._now()) if kind == "line" else text
            line = await self.app.push_screen_wait(LineDialog(f"Edit this {kind}", before))
            if line is not None and line != before:
                self._ask({"act": "state.change", "ids": [entry.id], "text": line})
        else:
            self.notify("This can't be edited here. Ask the assistant to change it.")

    async def _edit_slot(self, entry: StateEntry) -> None:
        """Ask for the value of a slot. The typed line is parsed by the same rules as speech."""
        form = definition(entry, self._kept, self._forms)
        slot = form.slot(entry.content["slot"]) if form is not None else None
        if slot is None:
            self.notify("The form no longer has this question, so it can't be edited.")
            return
        empty = self._is_empty(entry)
        before = "" if empty else answer_to_edit(slot, entry.content["value"])
        dialog = LineDialog(slot.ask, before, what_fits(slot), partial(self._wrong, slot))
        line = await self.app.push_screen_wait(dialog)
        if line is None or line == before:
            return
        value = self._read(slot, line)
        if empty:
            new = {"slot": slot.name, "label": slot.label, "value": value}
            self._ask({"act": "state.add", "kind": "slot", "form": entry.parent, **new})
        else:
            self._ask({"act": "state.change", "ids": [entry.id], "value": value})

    def _wrong(self, slot: Slot, line: str) -> str | None:
        """Return a sentence that says what the line must be; None if it is a valid value."""
        return f"This must be {what_fits(slot)}." if self._read(slot, line) is None else None

    def _read(self, slot: Slot, line: str) -> Value | None:
        return read(slot, line, self._now().date())

    @work(exclusive=True, group="dialog")
    async def action_export(self) -> None:
        """Write the form under the cursor to a file."""
        entry = self._form_here()
        if entry is None:
            self.notify("Put the cursor on a form to export it.")
            return
        heading = f"Export {plain(entry.content['title'])} to (.md for Markdown, .json for JSON)"
        name = EXPORT_TO.format(entry.content["form"].replace("_", "-"), self._now())
        path = await self.app.push_screen_wait(LineDialog(heading, name))
        if path is None:
            return
        with reporting(self):
            rows = await self._session.ask({"act": "state.export", "kind": "form"})
            own = [row for row in rows if entry.id in (row["id"], row["parent"])]
            await asyncio.to_thread(self._write, own, path)
            self.notify(f"The form was written to {path}.")

    def _write(self, rows: list[Row], path: str) -> None:
        file = export.expanded_path(path)
        if file.suffix == ".json":
            export.write(rows, file)
        else:
            export.write_lines(markdown(rows, self._forms), file)

    @work(group="organiser")
    async def _ask(self, request: dict[str, Any]) -> None:
        with reporting(self):
            await self._session.ask(request)

    def _is_empty(self, entry: StateEntry) -> bool:
        """Whether this is an empty slot of a form, which is not stored in the state yet."""
        stored = (each.id for each in self._kept.get("slot", ()))
        return "slot" in entry.content and entry.id not in stored

    def _form_here(self) -> StateEntry | None:
        """Return the form that contains the cursor. If the cursor is elsewhere and there is only
        one form, return that one; otherwise None."""
        forms = self._kept.get("form", ())
        here = self._here[1] if self._here is not None else None
        ids = (here.id, here.parent) if here is not None else ()
        found = next((each for each in forms if each.id in ids), None)
        return found or (forms[0] if len(forms) == 1 else None)

    def _list_name(self) -> str:
        """Return the name of the list under the cursor, or else of the first list."""
        rows = [row for section in self._sections for row in section.rows]
        lists = {entry.id: str(entry.content["name"]) for kind, entry in rows if kind == "list"}
        here = self._here[1] if self._here is not None else None
        first = next(iter(lists.values()), FIRST_LIST)
        return lists.get(here.parent or here.id, first) if here is not None else first
