"""Microphones and loudspeakers: their levels, a test tone, and which are used."""

import asyncio
from contextlib import aclosing
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from assistant.errors import AssistantError, AudioError, DeviceMissing
from assistant.voice.audio import Device, DeviceKind, choose_device
from ui.screen.settings.model import SettingsModel
from ui.screen.settings.settings_pane import SettingsFileChanged
from ui.screen.settings.sound_probe_client import AudioProbe, name_for
from ui.screen.widgets.level_meter import CLOSED, meter
from ui.screen.widgets.listing import Listing
from ui.screen.widgets.messages import ErrorOccurred
from ui.screen.widgets.pane import Pane
from ui.session.state import ScreenState
from ui.text.terminal_safe import plain

LOOKING = "Looking for microphones and loudspeakers…"
NOTHING = (
    "No microphone and no loudspeaker was found. Connect one, and press f; or press i and type."
)
DEFAULT = "the system's default"
NAME = 40
METER = 12
KEYS: dict[DeviceKind, str] = {
    "microphone": "audio.input_device",
    "loudspeaker": "audio.output_device",
}
HINTS: dict[DeviceKind, str] = {
    "microphone": "enter uses it · m measures its level · f searches again",
    "loudspeaker": "enter uses it · p plays a test tone · f searches again",
}
Choice = tuple[DeviceKind, Device | None]
"""None: the system's default."""


class DevicesList(Listing):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Use", id="devices.use")]


class DevicesPane(Pane):
    """The level of the microphone in use comes from the assistant. Others are opened only on
    request, one at a time and for at most half a minute: opening the microphone of a Bluetooth
    headset degrades its sound."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "meter", "Listen", id="devices.meter"),
        Binding("p", "tone", "Test tone", id="devices.tone"),
        Binding("f", "look", "Search again", id="devices.look"),
    ]
    DEFAULT_CSS = """
    DevicesPane { layout: vertical; height: 1fr; }
    DevicesPane > DevicesList {
        height: 1fr; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis;
    }
    DevicesPane > #device { height: 3; padding: 0 1; border-top: solid $primary; }
    """

    def __init__(self, book: SettingsModel, sound: AudioProbe) -> None:
        super().__init__(id="devices")
        self._book = book
        self._sound = sound
        self._there: list[Device] = []
        self._choices: dict[str, Choice] = {}
        self._drawn: dict[str, Text] = {}
        self._own: Text = meter(0.0, closed=True, cells=METER)
        self._listening: Device | None = None
        self._level: float | None = None
        self._playing: Device | None = None

    def compose(self) -> ComposeResult:
        yield DevicesList()
        yield Static(LOOKING, id="device", markup=False)

    def on_show(self) -> None:
        if not self._there:
            self.action_look()

    def on_hide(self) -> None:
        """The level is no longer visible."""
        self.workers.cancel_group(self, "meter")

    def show(self, state: ScreenState) -> None:
        if self.display:
            self._own = meter(state.level_dbfs, closed=state.phase in CLOSED, cells=METER)
            self._redraw()

    # -- drawing --------------------------------------------------------------------------------

    def action_look(self) -> None:
        """Search again; a device may have been plugged in."""
        self.run_worker(self._look(), exclusive=True, group="look")

    async def _look(self) -> None:
        self.query_one("#device", Static).update(LOOKING)
        try:
            self._there = await self._sound.devices()
        except AudioError as error:
            self.post_message(ErrorOccurred(error))
        self.renew()
        self._explain()

    def renew(self) -> None:
        """Redraw what is known; the cursor stays."""
        listing = self.query_one(DevicesList)
        place = listing.highlighted
        self._choices, self._drawn = {}, {}
        options: list[Option] = []
        for kind in KEYS:
            found = [device for device in self._there if device.channels(kind)]
            options.append(Option(Text(f"{kind.capitalize()}s", "bold underline"), disabled=True))
            for device in (None, *found) if found else ():
                key = f"{kind}:{device.index if device is not None else 'default'}"
                self._choices[key] = (kind, device)
                self._drawn[key] = self._row(kind, device)
                options.append(Option(self._drawn[key], id=key))
            if not found and self._there:
                options.append(Option(Text(f"  no {kind} was found", "dim"), disabled=True))
        listing.clear_options()
        if self._there:
            listing.add_options(options)
            listing.highlighted = min(place or 1, len(options) - 1)

    def _redraw(self) -> None:
        """Redraw only rows that have changed: a moving level must cost little."""
        if not self.is_attached:
            return
        listing = self.query_one(DevicesList)
        for key, (kind, device) in self._choices.items():
            new = self._row(kind, device)
            if new != self._drawn[key] or new.spans != self._drawn[key].spans:
                self._drawn[key] = new
                listing.replace_option_prompt(key, new)

    def _row(self, kind: DeviceKind, device: Device | None) -> Text:
        name = plain(device.name) if device is not None else DEFAULT
        wanted = self._book.loaded.settings.audio.model_dump()[KEYS[kind].partition(".")[2]]
        chosen = self._found(kind, wanted) if wanted is not None else None
        mark = "●" if device is chosen else " "
        text = Text(f"  {mark} {name:<{NAME}.{NAME}} ", no_wrap=True, overflow="ellipsis")
        if device is not None and device is self._listening and kind == "microphone":
            level = self._level
            text.append_text(meter(level, cells=METER) if level is not None else Text("opening…"))
            text.append(f" {level:.0f} dBFS" if level is not None else "")
        elif device is not None and device is self._playing and kind == "loudspeaker":
            text.append("♪ playing a test tone", style="bold cyan")
        elif kind == "microphone" and device is not None and self._is_in_use(kind, device):
            text.append_text(self._own)
        if device is not None and self._is_in_use(kind, device):
            text.append("  in use", style="bold cyan")
        if device is not None and device.is_default(kind):
            text.append("  default", style="dim")
        return text

    def _is_in_use(self, kind: DeviceKind, device: Device) -> bool:
        audio = self._book.started.audio
        wanted = audio.input_device if kind == "microphone" else audio.output_device
        return device is self._found(kind, wanted)

    def _found(self, kind: DeviceKind, wanted: str | None) -> Device | None:
        try:
            return choose_device(self._there, kind, wanted)
        except DeviceMissing:
            return None

    def _explain(self) -> None:
        choice = self.chosen()
        told = Text(NOTHING, style="dim")
        if choice is not None:
            kind, device = choice
            about = f"{device.host_api}, {device.rate:,} Hz" if device is not None else DEFAULT
            wanted = self._book.setting(KEYS[kind])
            told = Text(f"{KEYS[kind]} = {wanted.value or DEFAULT}   this one: {about}\n")
            told.append(HINTS[kind], style="dim")
        self.query_one("#device", Static).update(told)

    def on_option_list_option_highlighted(self) -> None:
        self._explain()

    # -- what can be done -----------------------------------------------------------------------

    def chosen(self) -> Choice | None:
        """The device under the cursor."""
        listing = self.query_one(DevicesList)
        place = listing.highlighted
        key = listing.get_option_at_index(place).id if place is not None else None
        return self._choices.get(key) if key is not None else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.run_worker(self._use(), exclusive=True, group="use")

    async def _use(self) -> None:
        choice = self.chosen()
        if choice is None:
            return
        kind, device = choice
        try:
            if device is None:
                await asyncio.to_thread(self._book.unset, KEYS[kind])
            else:
                name = name_for(self._there, kind, device)
                await asyncio.to_thread(self._book.write, KEYS[kind], name)
        except AssistantError as error:
            self.post_message(ErrorOccurred(error))
            return
        self._explain()
        self.post_message(SettingsFileChanged())

    def action_meter(self) -> None:
        """Measure the level of the microphone under the cursor, or stop."""
        device = self._device("microphone")
        if self._listening is not None:
            stops = device is self._listening
            self.workers.cancel_group(self, "meter")
            if stops:
                return
        if device is not None and self._is_in_use("microphone", device):
            self.notify("The assistant uses this one; its level is always shown.")
        elif device is not None:
            self.run_worker(self._listen(device), exclusive=True, group="meter")

    async def _listen(self, device: Device) -> None:
        self._listening, self._level = device, None
        self._redraw()
        try:
            async with aclosing(self._sound.levels(device)) as levels:
                async for level in levels:
                    self._level = level
                    self._redraw()
        except AudioError as error:
            self.post_message(ErrorOccurred(error))
        finally:
            if self._listening is device:
                self._listening = None
            self._redraw()

    def action_tone(self) -> None:
        """Play on the loudspeaker under the cursor."""
        device = self._device("loudspeaker")
        if device is not None and self._playing is None:
            self.run_worker(self._play(device), exclusive=True, group="tone")

    async def _play(self, device: Device) -> None:
        self._playing = device
        self._redraw()
        try:
            await self._sound.tone(device)
        except AudioError as error:
            self.post_message(ErrorOccurred(error))
        finally:
            self._playing = None
            self._redraw()

    def _device(self, kind: DeviceKind) -> Device | None:
        """The device under the cursor; if it is of the other kind or "default", the one in the
        settings."""
        choice = self.chosen()
        if choice is not None and choice[0] == kind and choice[1] is not None:
            return choice[1]
        audio = self._book.loaded.settings.audio
        wanted = audio.input_device if kind == "microphone" else audio.output_device
        on_default = choice is not None and choice[0] == kind
        return self._found(kind, None if on_default else wanted)
