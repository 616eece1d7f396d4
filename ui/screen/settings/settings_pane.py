"""The part of the settings tab that lists all settings and lets the user change them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual import work
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ui.screen.settings.model import MOST_WANTED, Setting, SettingsModel, shown, typed
from ui.screen.settings.part import SettingsPart
from ui.screen.widgets.dialogs import ChooseDialog, LineDialog
from ui.screen.widgets.keys import keys_of
from ui.screen.widgets.lists import FilterLine, Rows
from ui.session.settings_file import SECRET
from ui.text.terminal_safe import plain

KEY, VALUE = 34, 18
WIDE, MEANING = 110, 76
"""Minimum width of the pane, in cells, at which rows show the meaning of settings, and the column
where the meaning begins."""
PLACEHOLDER = "words of a setting's name, value or meaning"
WAITS = "restart needed"
NONE = "No setting contains these words in its name, value or meaning. {key} shows all."
ELSEWHERE = {
    "audio.input_device": "devices",
    "audio.output_device": "devices",
    "stt.model": "models",
    "llm.model": "models",
    "tts.model": "models",
}
"""Keys of settings that are changed in another part of the settings tab, and the name of that
part."""


@dataclass
class OpenPart(Message):
    """Asks the settings tab to show another of its parts."""

    part: str


class SettingsList(Rows):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Change", id="settings.change")
    ]

    def on_resize(self) -> None:
        self.scroll_to_highlight()


class SettingsPane(SettingsPart):
    """Lists the most used settings, then all settings by section."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "switch", "Switch", id="settings.switch", show=False),
        Binding("delete,backspace", "unset", "Default", id="settings.unset"),
        Binding("e", "change(True)", "Type a value", id="settings.type", show=False),
        Binding("slash", "filter", "Filter", id="settings.filter"),
    ]
    DEFAULT_CSS = "SettingsPane > #details { height: 6; overflow-y: auto; }"

    def __init__(self, settings: SettingsModel) -> None:
        super().__init__(id="every")
        self._settings = settings
        self._by_key: dict[str, Setting] = {}

    def compose(self) -> ComposeResult:
        yield SettingsList()
        yield FilterLine(PLACEHOLDER, SettingsList, self.renew)
        yield Static(id="details", markup=False)

    def on_resize(self) -> None:
        """Draw the list for the new width. The list is first drawn here, when it gets its size."""
        self.renew()

    def renew(self) -> None:
        self._by_key = {each.key: each for each in self._settings.settings()}
        listing = self.query_one(SettingsList)
        here = listing.here
        listing.refill(self._options(self.query_one(FilterLine).words))
        if here is not None and listing.here != here:  # the list has changed
            ids = [option.id for option in listing.options]
            if here in ids:
                listing.highlighted = ids.index(here)
            else:
                listing.action_first()
        self.explain()

    def chosen(self) -> Setting | None:
        """Return the setting under the cursor, if any."""
        here = self.query_one(SettingsList).here
        return self._by_key[here.rpartition(":")[2]] if here is not None else None

    # -- drawing --------------------------------------------------------------------------------

    def _options(self, words: list[str]) -> Iterator[Option]:
        meant = self.size.width >= WIDE
        if not words:
            yield _heading("Most used")
            for key in MOST_WANTED:
                yield Option(row(self._by_key[key], meant), id=f"wanted:{key}")
        section = ""
        for setting in self._by_key.values():
            all_of_it = f"{setting.key} {shown(setting.value)} {setting.meaning}".casefold()
            if not all(word in all_of_it for word in words):
                continue
            if setting.section != section:
                section = setting.section
                yield _heading(section)
            yield Option(row(setting, meant), id=setting.key)

    def details(self) -> Text:
        setting = self.chosen()
        if setting is not None:
            return explained(setting)
        key = keys_of(self.query_one(FilterLine))["filter.leave"]
        return Text(NONE.format(key=key), style="dim")

    def action_filter(self) -> None:
        self.query_one(FilterLine).open()

    # -- changing -------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        setting = self.chosen()
        if setting is not None and setting.key in ELSEWHERE and not setting.outweighed_by:
            self.post_message(OpenPart(ELSEWHERE[setting.key]))
        else:
            self.action_change()

    def action_switch(self) -> None:
        setting = self.chosen()
        if setting is None or not setting.is_switch:
            raise SkipAction  # so that the key keeps its usual meaning
        self.action_change()

    @work(group="change")
    async def action_unset(self) -> None:
        setting = self.chosen()
        if setting is not None:
            await self.save(self._settings.unset, setting.key)

    @work(exclusive=True, group="change")
    async def action_change(self, by_hand: bool = False) -> None:
        """Let the user change the setting under the cursor. A switch is changed at once.

        Args:
            by_hand: whether the user types the value, even if there is a list of values.
        """
        setting = self.chosen()
        if setting is None:
            return
        value: str | None
        if setting.outweighed_by is not None:
            value = ""  # `write` fails and reports why the setting can't be changed
        elif setting.is_switch:
            value = "false" if setting.value else "true"
        else:
            value = await self._asked(setting, by_hand)
        if value is not None:
            await self.save(self._settings.write, setting.key, value)

    async def _asked(self, setting: Setting, by_hand: bool) -> str | None:
        values = setting.choices
        if setting.key == "screen.theme":
            values = tuple(sorted(self.app.available_themes))
        if values and not by_hand:
            dialog = ChooseDialog(setting.key, values, str(setting.value))
            return await self.app.push_screen_wait(dialog)
        value = "" if setting.key in SECRET else typed(setting.value)
        hint = "Del in the list restores the default"
        return await self.app.push_screen_wait(LineDialog(setting.key, value, hint))


def row(setting: Setting, meant: bool) -> Text:
    """Return a row with the name, value and state of a setting and, if `meant`, its meaning."""
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
    """Return all details of a setting, including when a new value takes effect."""
    text = Text.assemble((setting.key, "bold"), f" = {plain(shown(setting.value))}")
    text.append(f"   default: {shown(setting.default)}", style="dim")
    if setting.source != "default":
        text.append(f"   from {setting.source}", style="dim")
    text.append(f"\n{setting.meaning}")
    if setting.outweighed_by is not None:
        text.append(f"\nIt comes from {setting.outweighed_by}; the file can't change it.", "yellow")
    elif setting.waits:
        text.append("\nSaved. Takes effect when you restart the assistant (r).", style="yellow")
    return text


def _origin(setting: Setting) -> str:
    if setting.source == "flag":
        return "from a flag"
    return setting.source if setting.outweighed_by else "set"


def _heading(section: str) -> Option:
    return Option(Text(section, style="bold underline"), disabled=True)
