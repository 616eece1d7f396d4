"""First step: does the microphone hear the user?"""

from collections.abc import Callable
from typing import Protocol

from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import Button, OptionList, Static
from textual.widgets.option_list import Option

from assistant.ipc import Row
from ui.process.console import runnable_hint
from ui.screen.first_run.microphone_check import Judgement
from ui.screen.widgets.level_meter import meter
from ui.screen.widgets.step import SetupStep

CELLS = 30
DEFAULT = "the system's default"
SILENT = (
    "It delivers silence. Unmute it, and allow this terminal to use it in the system's privacy"
    " settings; or choose another."
)


class Check(Protocol):
    """See `ui.screen.first_run.microphone_check.MicrophoneCheck`."""

    async def listen(self, microphone: str | None) -> None: ...

    async def close(self) -> None: ...


class MicrophoneStep(SetupStep[str | None]):
    """Returns the chosen microphone; None is the one in the settings.

    Args:
        check: creates the check, given the function that receives its rows.
        wanted: the microphone in the settings.
    """

    HEADING = "First steps: the microphone"
    DEFAULT_CSS = """
    MicrophoneStep OptionList { height: auto; max-height: 6; margin-bottom: 1; display: none; }
    MicrophoneStep OptionList.-several { display: block; }
    """

    def __init__(self, check: Callable[[Callable[[Row], None]], Check], wanted: str | None) -> None:
        super().__init__()
        self._check = check(self._told)
        self._wanted = wanted
        self._chosen: str | None = None
        self._devices: list[str] = []
        self._judgement = Judgement()

    def body(self) -> ComposeResult:
        yield Static("Looking for microphones…", id="device", markup=False)
        yield Static(meter(-96.0, cells=CELLS), id="level", markup=False)
        yield Static("", id="verdict", markup=False)
        yield OptionList()

    def buttons(self) -> list[Button]:
        return [Button("Go on", id="on", variant="primary"), Button("Without", id="without")]

    def on_mount(self) -> None:
        self.run_worker(self._check.listen(self._wanted))

    def _told(self, row: Row) -> None:
        if not self.is_attached:  # the step has been left
            return
        if "devices" in row:
            self._list(row["devices"])
        elif "microphone" in row:
            self.query_one("#device", Static).update(f"Microphone: {row['microphone']}")
            self._say("Say something.")
        elif "dbfs" in row:
            self._hear(row["dbfs"])
        else:
            failed = row["failed"]
            self.query_one("#device", Static).update("The microphone doesn't work.")
            mend = f" → {runnable_hint(failed['mend'])}" if failed.get("mend") else ""
            self.query_one("#level", Static).update(meter(-96.0, closed=True, cells=CELLS))
            self._say(f"{failed['message']}{mend}", "bold yellow", sign="! ")

    def _list(self, devices: list[str]) -> None:
        self._devices = devices
        choices = self.query_one(OptionList)
        choices.clear_options()
        choices.add_options(Option(name) for name in (DEFAULT, *devices))
        choices.set_class(len(devices) > 1, "-several")

    def _hear(self, dbfs: float) -> None:
        self.query_one("#level", Static).update(meter(dbfs, cells=CELLS))
        hearing = self._judgement.hear(dbfs)
        if hearing == "heard":
            self._say("I hear you.", "bold green", sign="✓ ")
        elif hearing == "silent":
            self._say(SILENT, "bold yellow", sign="! ")

    def _say(self, sentence: str, style: str = "", sign: str = "") -> None:
        self.query_one("#verdict", Static).update(Text.assemble((sign, style), sentence))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self._chosen = self._devices[event.option_index - 1] if event.option_index else None
        self._judgement = Judgement()
        self._say("…")
        self.run_worker(self._check.listen(self._chosen or self._wanted))
        self.query_one("#on", Button).focus()

    async def on_button_pressed(self, event: Button.Pressed) -> None:
        await self._end(self._chosen if event.button.id == "on" else None)

    def action_skip(self) -> None:
        self.run_worker(self._end(None))

    async def _end(self, chosen: str | None) -> None:
        """The device must be free, since the assistant opens it next."""
        await self._check.close()
        self.dismiss(chosen)

    async def on_unmount(self) -> None:
        await self._check.close()
