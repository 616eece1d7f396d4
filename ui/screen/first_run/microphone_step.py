"""The step that tests the microphone before the first conversation."""

import asyncio
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Literal

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.css.query import NoMatches
from textual.widgets import Button, OptionList, Static
from textual.worker import Worker, WorkerCancelled

from assistant.errors import AudioError
from assistant.voice.audio import Device, choose_device
from ui.process.console import runnable_hint
from ui.screen.settings.sound_probe_client import AudioProbe
from ui.screen.widgets.dialogs import SetupStep
from ui.screen.widgets.level_meter import meter

Hearing = Literal["waiting", "heard", "silent"]

NOISE_LEVELS = 6
"""Number of levels at the start of the test from which the room's noise is measured."""
RISE_DB = 12.0
"""Minimum number of dB by which speech is louder than the room's noise."""
LEAST_DBFS = -50.0
"""Minimum level of speech, in dBFS."""
SPEECH_LEVELS = 4
"""Number of loud levels after which the user counts as heard: about a third of a second. A click is
shorter."""
DEAD_DBFS = -85.0
"""Level in dBFS below which a microphone counts as silent. Every working microphone has more
noise."""
DEAD_LEVELS = 25
"""Number of levels after which a microphone can be judged silent."""
RETRY_S = 1.0
CELLS = 30
DEFAULT = "the system's default"
SILENT = (
    "This microphone picks up only silence. Unmute it, allow this terminal to use it in the"
    " system's privacy settings, or choose another."
)


@dataclass(slots=True)
class Judgement:
    """Decides from a microphone's levels whether the microphone picks up speech."""

    levels: list[float] = field(default_factory=list)
    _loud: int = 0

    def hear(self, dbfs: float) -> Hearing:
        """Add the next level and return the result so far. The result `heard` is final."""
        self.levels.append(dbfs)
        room = min(self.levels[:NOISE_LEVELS])
        if len(self.levels) > NOISE_LEVELS and dbfs > max(room + RISE_DB, LEAST_DBFS):
            self._loud += 1
        if self._loud >= SPEECH_LEVELS:
            return "heard"
        if len(self.levels) >= DEAD_LEVELS and max(self.levels) < DEAD_DBFS:
            return "silent"
        return "waiting"


class MicrophoneStep(SetupStep[str | None]):
    """Lets the user test and choose a microphone. No sound is stored.

    The result is the name of the chosen microphone, or None for the system's default. If the user
    doesn't choose one, the result is `wanted`.

    Args:
        wanted: the microphone in the settings. None stands for the system's default.
    """

    DEFAULT_CSS = """
    MicrophoneStep OptionList { height: auto; max-height: 6; margin-bottom: 1; display: none; }
    """

    def __init__(self, sound: AudioProbe, wanted: str | None) -> None:
        super().__init__("First steps: the microphone")
        self._sound = sound
        self._wanted = self._chosen = wanted
        self._devices: list[Device] = []
        self._names: list[str] = []
        self._listening: Worker[None]

    def body(self) -> ComposeResult:
        yield Static("Looking for microphones…", id="device", markup=False)
        yield Static(meter(-96.0, cells=CELLS), id="level", markup=False)
        yield Static("", id="verdict", markup=False)
        yield OptionList()
        go_on, without = Button("Continue", id="on", variant="primary"), Button("Skip")
        yield Horizontal(go_on, without, id="buttons")

    def on_mount(self) -> None:
        self._listening = self._listen()

    @work
    async def _listen(self) -> None:
        """Measure the level until cancelled.

        A microphone that fails is tried again, since the user may plug it in or close another
        program that uses it.
        """
        while True:
            try:
                await self._measure()
            except NoMatches:
                return  # the step is being closed
            except AudioError as error:
                self.query_one("#device", Static).update("The microphone doesn't work.")
                mend = f" → {runnable_hint(error.mend)}" if error.mend else ""
                self.query_one("#level", Static).update(meter(-96.0, closed=True, cells=CELLS))
                self._say(f"{error}{mend}", "bold yellow", sign="! ")
            self._devices = []  # the devices may have changed
            await asyncio.sleep(RETRY_S)

    async def _measure(self) -> None:
        """Measure and judge the level until the microphone stops delivering sound.

        Ask the user to speak once the first level shows that the microphone is open.

        Raises:
            AudioError: the microphone is missing, is in use or delivers no sound.
        """
        judgement = Judgement()
        if not self._devices:
            self._list(await self._sound.devices())
        device = choose_device(self._devices, "microphone", self._chosen)
        async with aclosing(self._sound.levels(device)) as levels:
            async for level in levels:
                if not judgement.levels:
                    self.query_one("#device", Static).update(f"Microphone: {device.name}")
                    self._say("Say something.")
                self._judge(judgement.hear(level), level)

    def _list(self, devices: list[Device]) -> None:
        self._devices = devices
        names = list(dict.fromkeys(device.name for device in devices if device.inputs))
        if names == self._names:
            return
        self._names = names
        choices = self.query_one(OptionList)
        choices.clear_options()
        choices.add_options((DEFAULT, *names))
        choices.display = len(names) > 1

    def _judge(self, hearing: Hearing, dbfs: float) -> None:
        self.query_one("#level", Static).update(meter(dbfs, cells=CELLS))
        if hearing == "heard":
            self._say("I hear you.", "bold green", sign="✓ ")
        elif hearing == "silent":
            self._say(SILENT, "bold yellow", sign="! ")

    def _say(self, sentence: str, style: str = "", sign: str = "") -> None:
        self.query_one("#verdict", Static).update(Text.assemble((sign, style), sentence))

    async def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self._chosen = self._names[event.option_index - 1] if event.option_index else None
        self._say("…")
        await self._stop()
        self._listening = self._listen()
        self.query_one("#on", Button).focus()

    async def on_button_pressed(self, event: Button.Pressed) -> None:
        await self._end(self._chosen if event.button.id == "on" else self._wanted)

    def action_skip(self) -> None:
        self.run_worker(self._end(self._wanted))

    async def _end(self, chosen: str | None) -> None:
        await self._stop()
        self.dismiss(chosen)

    async def _stop(self) -> None:
        """Stop measuring, and wait until the microphone is closed and can be opened again."""
        self._listening.cancel()
        with suppress(WorkerCancelled):
            await self._listening.wait()
