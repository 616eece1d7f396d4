"""The part of the settings tab in which the user tests and chooses microphones and loudspeakers."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing, suppress
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from assistant.errors import DeviceMissing
from assistant.settings import Settings
from assistant.voice.audio import Device, DeviceKind, choose_device
from ui.screen.settings.model import SettingsModel
from ui.screen.settings.part import SettingsPart
from ui.screen.settings.sound_probe_client import AudioProbe, name_for
from ui.screen.widgets.keys import keys_of
from ui.screen.widgets.level_meter import CLOSED, meter
from ui.screen.widgets.lists import Rows
from ui.screen.widgets.pane import Pane, reporting
from ui.session.state import ScreenState
from ui.text.terminal_safe import plain

LOOKING = "Looking for microphones and loudspeakers…"
AGAIN = " · {key[devices.look]} searches again"
NOTHING = (
    "No microphone or loudspeaker was found. Connect one and press {key[devices.look]}, or press "
    "{key[voice.type]} and type."
)
DEFAULT = "the system's default"
NAME = 40
METER = 12
METER_S = 30.0
"""Seconds after which the measurement of a microphone's level ends."""
KEYS: dict[DeviceKind, str] = {
    "microphone": "audio.input_device",
    "loudspeaker": "audio.output_device",
}
HINTS: dict[DeviceKind, str] = {
    "microphone": "{key[devices.use]} uses it · {key[devices.meter]} measures its level",
    "loudspeaker": "{key[devices.use]} uses it · {key[devices.tone]} plays a test tone",
}
Choice = tuple[DeviceKind, Device | None]
"""A kind of device, and a device of this kind or None for the system's default."""


class DevicesList(Rows):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Use", id="devices.use")]


class DevicesPane(SettingsPart, Pane):
    """Lists the devices, with the levels of microphones.

    The assistant reports the level of the microphone in use. Other microphones are opened only on
    request, one at a time and for at most METER_S seconds, because opening the microphone of a
    Bluetooth headset degrades the headset's sound.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "meter", "Listen", id="devices.meter"),
        Binding("p", "tone", "Test tone", id="devices.tone"),
        Binding("f", "look", "Search again", id="devices.look"),
    ]

    def __init__(self, settings: SettingsModel, sound: AudioProbe) -> None:
        super().__init__(id="devices")
        self._settings = settings
        self._sound = sound
        self._there: list[Device] = []
        self._choices: dict[str, Choice] = {}
        """The choice that each option of the list stands for, by the option's id."""
        self._own: Text = meter(0.0, closed=True, cells=METER)
        self._listening: Device | None = None
        self._level: float | None = None
        self._playing: Device | None = None

    def compose(self) -> ComposeResult:
        yield DevicesList()
        yield Static(LOOKING, id="details", markup=False)

    def on_show(self) -> None:
        if not self._there:
            self.action_look()
        else:
            self.explain()

    def on_hide(self) -> None:
        """Stop measuring the level, which is no longer visible."""
        self.workers.cancel_group(self, "meter")

    def show(self, state: ScreenState) -> None:
        if self.display:
            self._own = meter(state.level_dbfs, closed=state.phase in CLOSED, cells=METER)
            self.renew()

    # -- drawing --------------------------------------------------------------------------------

    @work(exclusive=True, group="look")
    async def action_look(self) -> None:
        """Search for devices again, e.g. after one has been plugged in."""
        self.query_one("#details", Static).update(LOOKING)
        with reporting(self):
            self._there = await self._sound.devices()
        self.renew()
        self.explain()

    def renew(self) -> None:
        if self.is_attached:
            self.query_one(DevicesList).refill(self._options() if self._there else ())

    def _options(self) -> Iterator[Option]:
        self._choices = {}
        for kind in KEYS:
            found = [device for device in self._there if device.channels(kind)]
            yield Option(Text(f"{kind.capitalize()}s", "bold underline"), disabled=True)
            for device in (None, *found) if found else ():
                key = f"{kind}:{device.index if device is not None else 'default'}"
                self._choices[key] = (kind, device)
                yield Option(self._row(kind, device), id=key)
            if not found:
                yield Option(Text(f"  no {kind} was found", "dim"), disabled=True)

    def _row(self, kind: DeviceKind, device: Device | None) -> Text:
        name = plain(device.name) if device is not None else DEFAULT
        wanted = _wanted(self._settings.loaded.settings, kind)
        chosen = self._found(kind, wanted) if wanted is not None else None
        mark = "●" if device is chosen else " "
        text = Text(f"  {mark} {name:<{NAME}.{NAME}} ", no_wrap=True, overflow="ellipsis")
        if device is None:
            return text
        in_use = self._is_in_use(kind, device)
        if device is self._listening and kind == "microphone":
            level = self._level
            text.append_text(meter(level, cells=METER) if level is not None else Text("opening…"))
            text.append(f" {level:.0f} dBFS" if level is not None else "")
        elif device is self._playing and kind == "loudspeaker":
            text.append("♪ playing a test tone", style="bold cyan")
        elif kind == "microphone" and in_use:
            text.append_text(self._own)
        if in_use:
            text.append("  in use", style="bold cyan")
        if device.is_default(kind):
            text.append("  default", style="dim")
        return text

    def _is_in_use(self, kind: DeviceKind, device: Device) -> bool:
        return device is self._found(kind, _wanted(self._settings.started, kind))

    def _found(self, kind: DeviceKind, wanted: str | None) -> Device | None:
        try:
            return choose_device(self._there, kind, wanted)
        except DeviceMissing:
            return None

    def details(self) -> Text:
        choice = self.chosen()
        keys = keys_of(self.query_one(DevicesList))
        if choice is None:
            return Text(NOTHING.format(key=keys), style="dim")
        kind, device = choice
        about = f"{device.host_api}, {device.rate:,} Hz" if device is not None else DEFAULT
        wanted = _wanted(self._settings.loaded.settings, kind)
        text = Text(f"{KEYS[kind]} = {wanted or DEFAULT}   this one: {about}\n")
        return text.append((HINTS[kind] + AGAIN).format(key=keys), style="dim")

    # -- actions ----------------------------------------------------------------------------------

    def chosen(self) -> Choice | None:
        """Return the choice under the cursor; None if the cursor is on no choice."""
        return self._choices.get(self.query_one(DevicesList).here or "")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._use()

    @work(exclusive=True, group="use")
    async def _use(self) -> None:
        choice = self.chosen()
        if choice is None:
            return
        kind, device = choice
        if device is None:
            await self.save(self._settings.unset, KEYS[kind])
        else:
            await self.save(self._settings.write, KEYS[kind], name_for(self._there, kind, device))

    def action_meter(self) -> None:
        """Start or stop measuring the level of the microphone under the cursor."""
        device = self._device("microphone")
        if self._listening is not None:
            stops = device is self._listening
            self.workers.cancel_group(self, "meter")
            if stops:
                return
        if device is not None and self._is_in_use("microphone", device):
            self.notify(
                "The assistant is already using this microphone, so its level is always shown."
            )
        elif device is not None:
            self._listen(device)

    @work(exclusive=True, group="meter")
    async def _listen(self, device: Device) -> None:
        self._listening, self._level = device, None
        self.renew()
        try:
            with reporting(self), suppress(TimeoutError):
                levels = self._sound.levels(device)
                async with asyncio.timeout(METER_S), aclosing(levels):
                    async for level in levels:
                        self._level = level
                        self.renew()
        finally:
            if self._listening is device:
                self._listening = None
            self.renew()

    @work(group="tone")
    async def action_tone(self) -> None:
        """Play a test tone on the loudspeaker under the cursor."""
        device = self._device("loudspeaker")
        if device is None or self._playing is not None:
            return
        self._playing = device
        self.renew()
        try:
            with reporting(self):
                await self._sound.tone(device)
        finally:
            self._playing = None
            self.renew()

    def _device(self, kind: DeviceKind) -> Device | None:
        """Return the device of this kind that a key acts on; None if there is no such device.

        This is the device under the cursor or, on the row "the system's default", the default
        device. If the cursor is on a device of the other kind, this is the device in the settings.
        """
        choice = self.chosen()
        here = choice is not None and choice[0] == kind
        if choice is not None and here and choice[1] is not None:
            return choice[1]
        return self._found(kind, None if here else _wanted(self._settings.loaded.settings, kind))


def _wanted(settings: Settings, kind: DeviceKind) -> str | None:
    audio = settings.audio
    return audio.input_device if kind == "microphone" else audio.output_device
