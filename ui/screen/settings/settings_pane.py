"""All settings: value, source and meaning; changed in place."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from assistant.errors import AssistantError
from ui.screen.settings.model import MOST_WANTED, Setting, SettingsModel, shown, typed
from ui.screen.widgets.choose_dialog import ChooseDialog
from ui.screen.widgets.dialogs import LineDialog
from ui.screen.widgets.filter_line import FilterLine, focus_later
from ui.screen.widgets.listing import Listing
from ui.screen.widgets.messages import ErrorOccurred
from ui.session.settings_file import SECRET
from ui.text.terminal_safe import plain

KEY, VALUE = 34, 18
WIDE, MEANING = 110, 76
"""Rows at least so wide have room for the meaning, from this column on."""
WAITS = "restart needed"
NONE = "No setting contains these words in its name, value or meaning. esc shows all."
ELSEWHERE = {
    "audio.input_device": "devices",
    "audio.output_device": "devices",
    "stt.model": "models",
    "llm.model": "models",
    "tts.model": "models",
}
"""Settings that are better chosen from a list than typed."""


class SettingsFileChanged(Message):
    """The settings file has changed, and has been read again."""


class OpenPart(Message):
    """Go to another part of the settings."""

    def __init__(self, part: str) -> None:
        super().__init__()
        self.part = part


class SettingsList(Listing):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Change", id="settings.change")
    ]

    def on_resize(self) -> None:
        self.scroll_to_highlight()


class SettingsPane(Container):
    """A list of settings, and below it details of the one under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "switch", "Switch", id="settings.switch", show=False),
        Binding("delete,backspace", "unset", "Default", id="settings.unset"),
        Binding("e", "type", "Type a value", id="settings.type", show=False),
        Binding("slash", "filter", "Filter", id="settings.filter"),
    ]
    DEFAULT_CSS = """
    SettingsPane { layout: vertical; height: 1fr; }
    SettingsPane > SettingsList {
        height: 1fr; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis;
    }
    SettingsPane > #meaning {
        height: 6; overflow-y: auto; padding: 0 1; border-top: solid $primary;
    }
    """

    def __init__(self, book: SettingsModel) -> None:
        super().__init__(id="every")
        self._book = book
        self._by_key: dict[str, Setting] = {}

    def compose(self) -> ComposeResult:
        yield SettingsList()
        yield FilterLine("words of a setting's name, value or meaning")
        yield Static(id="meaning", markup=False)

    def on_resize(self) -> None:
        """Draws first when first seen: nothing is laid out before."""
        self.renew()

    def renew(self) -> None:
        """Redraw the settings; the cursor stays."""
        settings = self._book.settings()
        self._by_key = {each.key: each for each in settings}
        listing = self.query_one(SettingsList)
        place = listing.highlighted
        here = listing.get_option_at_index(place).id if place is not None else None
        options = list(self._options(settings, self.query_one(FilterLine).words))
        ids = [option.id for option in options]
        if ids == [option.id for option in listing.options]:
            for index, option in enumerate(options):
                if option.prompt != listing.options[index].prompt:
                    listing.replace_option_prompt_at_index(index, option.prompt)
        else:
            listing.clear_options()
            listing.add_options(options)
            named = [index for index, each in enumerate(ids) if each is not None]
            listing.highlighted = (
                ids.index(here) if here and here in ids else min(named, default=None)
            )
        self._explain()

    def chosen(self) -> Setting | None:
        """The setting under the cursor."""
        listing = self.query_one(SettingsList)
        place = listing.highlighted
        key = listing.get_option_at_index(place).id if place is not None else None
        return self._by_key[key.rpartition(":")[2]] if key is not None else None

    # -- drawing --------------------------------------------------------------------------------

    def _options(self, settings: list[Setting], words: list[str]) -> Iterator[Option]:
        meant = self.size.width >= WIDE
        if not words:
            yield _heading("Most used")
            for key in MOST_WANTED:
                yield Option(row(self._by_key[key], meant), id=f"wanted:{key}")
        section = ""
        for setting in _with(settings, words):
            if setting.section != section:
                section = setting.section
                yield _heading(section)
            yield Option(row(setting, meant), id=setting.key)

    def _explain(self) -> None:
        setting = self.chosen()
        told = explained(setting) if setting is not None else Text(NONE, style="dim")
        self.query_one("#meaning", Static).update(told)

    def on_option_list_option_highlighted(self) -> None:
        self._explain()

    # -- filter ---------------------------------------------------------------------------------

    def action_filter(self) -> None:
        self.query_one(FilterLine).open()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.renew()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.query_one(SettingsList).focus()

    def on_filter_line_left(self) -> None:
        focus_later(self.query_one(SettingsList))

    # -- changing -------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        setting = self.chosen()
        if setting is not None and setting.key in ELSEWHERE and not setting.outweighed_by:
            self.post_message(OpenPart(ELSEWHERE[setting.key]))
        else:
            self.run_worker(self._change(), exclusive=True, group="change")

    def action_type(self) -> None:
        """Type a value, whatever kind of setting it is."""
        self.run_worker(self._change(by_hand=True), exclusive=True, group="change")

    def action_switch(self) -> None:
        setting = self.chosen()
        if setting is None or not setting.is_switch:
            raise SkipAction  # the key has its usual meaning
        self.run_worker(self._change(), exclusive=True, group="change")

    def action_unset(self) -> None:
        setting = self.chosen()
        if setting is not None:
            key = setting.key
            self.run_worker(self._carry_out(lambda: self._book.unset(key)), group="change")

    async def _change(self, *, by_hand: bool = False) -> None:
        setting = self.chosen()
        if setting is None:
            return
        key, value = setting.key, None
        if setting.outweighed_by is not None:
            value = ""  # writing explains why not
        elif setting.is_switch:
            value = "false" if setting.value else "true"
        else:
            value = await self._asked(setting, by_hand)
        if value is not None:
            new = value
            await self._carry_out(lambda: self._book.write(key, new))

    async def _asked(self, setting: Setting, by_hand: bool) -> str | None:
        values = setting.choices
        if setting.key == "screen.theme":
            values = tuple(sorted(self.app.available_themes))
        if values and not by_hand:
            options = [(value, value) for value in values]
            return await self.app.push_screen_wait(
                ChooseDialog(setting.key, options, str(setting.value))
            )
        secret = setting.key in SECRET
        value = "" if secret else typed(setting.value)
        return await self.app.push_screen_wait(
            LineDialog(setting.key, value, "Del in the list restores the default")
        )

    async def _carry_out(self, change: Callable[[], Any]) -> None:
        try:
            await asyncio.to_thread(change)
        except AssistantError as error:
            self.post_message(ErrorOccurred(error))
            return
        self.post_message(SettingsFileChanged())


def row(setting: Setting, meant: bool) -> Text:
    """Name, value, state, and if there is room, the meaning."""
    value = plain(" ".join(shown(setting.value).split()))
    long = cell_len(value) > VALUE
    text = Text(f"  {setting.key:<{KEY}}", no_wrap=True, overflow="ellipsis")
    style = "" if setting.source == "default" else "bold"
    text.append(f"{set_cell_size(value, VALUE - 1)}…" if long else value, style=style)
    text.append(" " * (VALUE + 2 - min(cell_len(value), VALUE)))
    if setting.waits:
        text.append(f"{WAITS} ", style="bold yellow")
    if setting.source != "default":
        text.append(f"{_origin(setting)} ", style="dim")
    if meant:
        text.append(" " * max(MEANING - text.cell_len, 0) + setting.meaning, style="dim")
    return text


def explained(setting: Setting) -> Text:
    """All details of a setting, and how to change it."""
    text = Text.assemble((setting.key, "bold"), f" = {plain(shown(setting.value))}")
    text.append(f"   default: {shown(setting.default)}", style="dim")
    if setting.source != "default":
        text.append(f"   from {setting.source}", style="dim")
    text.append(f"\n{setting.meaning}")
    if setting.outweighed_by is not None:
        text.append(f"\nIt comes from {setting.outweighed_by}; the file can't change it.", "yellow")
    elif setting.waits:
        text.append("\nSaved. It takes effect when r restarts the assistant.", style="yellow")
    return text


def _origin(setting: Setting) -> str:
    if setting.source == "flag":
        return "from a flag"
    return setting.source if setting.outweighed_by else "set"


def _heading(section: str) -> Option:
    return Option(Text(section, style="bold underline"), disabled=True)


def _with(settings: Iterable[Setting], words: list[str]) -> Iterator[Setting]:
    for setting in settings:
        all_of_it = f"{setting.key} {shown(setting.value)} {setting.meaning}".casefold()
        if all(word in all_of_it for word in words):
            yield setting
