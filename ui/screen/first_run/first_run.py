"""Guide the user through the steps before the first conversation.

The steps are a microphone test and the download of missing models. Every step can be skipped. If
the home has been used before, the download is the only step.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import App, RenderResult
from textual.reactive import reactive

from assistant.errors import AssistantError, ModelMissing
from assistant.events import Phase
from assistant.paths import Home
from assistant.settings import Settings
from ui.process.threads import run_on_daemon_thread
from ui.screen.settings.sound_probe_client import AudioProbe, AudioProbeProcess
from ui.screen.widgets.keys import keys_of
from ui.screen.widgets.pane import Pane
from ui.session.settings_file import set_setting
from ui.session.state import ScreenState

if TYPE_CHECKING:
    from models.download import Report
    from ui.session.model_downloads import Needed

LOADING = "Loading the models; you can speak in a moment."
HELLO = "Say hello, or press {key[voice.type]} and type. {key[help]} shows the keys."

logger = logging.getLogger(__name__)


def is_new(home: Home) -> bool:
    """Whether the home has never been used: none of its files exists."""
    return not any(
        path.exists() for path in (home.settings_file, home.key_file, home.transcript, home.ledger)
    )


class FirstRun:
    """Guides the user through the microphone test and the download of missing models.

    Args:
        new: whether the home is new. If not, the microphone isn't tested.
        listens: whether the session uses a microphone. If not, the microphone isn't tested.
        sound: queries the sound devices. Default: those of this machine.
        needed: returns the missing models. Default: those missing on this machine.
        bring: downloads the missing models. Default: `download_missing`.
    """

    def __init__(
        self,
        home: Home,
        *,
        new: bool,
        listens: bool = True,
        sound: AudioProbe | None = None,
        needed: "Callable[[Settings], list[Needed]] | None" = None,
        bring: "Callable[[Settings, Report, threading.Event], None] | None" = None,
    ) -> None:
        self._home = home
        self._sound = sound or AudioProbeProcess()
        self._needed = needed
        self._bring = bring
        self._microphone_due = new and listens
        self._exchange_due = new
        self.first = new
        """Whether the steps run before the assistant starts. Otherwise, they run after it has
        started, and only if models are missing."""

    async def missing(self, settings: Settings) -> "list[Needed]":
        """Return the models that must be downloaded.

        Raises:
            SettingsError: the profile in the settings doesn't exist.
        """
        return await run_on_daemon_thread(self._missing, settings)

    async def lead(self, app: App[int], settings: Settings) -> Settings:
        """Guide the user through the steps. Call this in a worker, because it shows dialogs.

        Returns:
            The settings, with the microphone that the user has chosen.

        Raises:
            ModelMissing: models are missing, and the user skipped the download.
            SettingsError: the profile in the settings doesn't exist.
        """
        looking = asyncio.create_task(self.missing(settings))
        if self._microphone_due:
            self._microphone_due = False
            settings = await self._try_microphone(app, settings)
        needed = await looking
        if needed:
            await self._download(app, settings, needed)
        self.first = False
        if self._exchange_due:
            self._exchange_due = False
            await app.screen_stack[0].query_one("#left").mount(FirstExchangeHint(), after=0)
        return settings

    async def _try_microphone(self, app: App[int], settings: Settings) -> Settings:
        from ui.screen.first_run.microphone_step import MicrophoneStep

        step = MicrophoneStep(self._sound, settings.audio.input_device)
        chosen = await app.push_screen_wait(step)
        if chosen == settings.audio.input_device:
            return settings
        audio = settings.audio.model_copy(update={"input_device": chosen})
        told = ""
        if chosen is None:
            # A new home has no settings file, so a flag or variable named the other microphone.
            told = "The system's default microphone is used for this session only."
        else:
            try:
                await run_on_daemon_thread(set_setting, self._home, "audio.input_device", chosen)
            except AssistantError as error:
                logger.warning("the choice of the microphone can't be saved", exc_info=error)
                told = f"{error} The microphone is used for this session only."
        if told:
            app.notify(told, severity="warning", markup=False)
        return settings.model_copy(update={"audio": audio})

    async def _download(self, app: App[int], settings: Settings, needed: "list[Needed]") -> None:
        from ui.screen.first_run.models_step import ModelsStep
        from ui.session.model_downloads import download_missing

        step = ModelsStep(needed, partial(self._bring or download_missing, settings))
        if not await app.push_screen_wait(step):
            raise ModelMissing(
                "The assistant needs models that are missing.", mend="assistant models pull"
            )

    def _missing(self, settings: Settings) -> "list[Needed]":
        from ui.session.model_downloads import missing_models

        return (self._needed or missing_models)(settings)


class FirstExchangeHint(Pane):
    """Tells the user what to do first, and disappears after the first turn."""

    DEFAULT_CSS = "FirstExchangeHint { height: auto; padding: 0 1; border: round $accent; }"
    words = reactive(LOADING, layout=True)

    def show(self, state: ScreenState) -> None:
        if state.turn is not None and state.turn.over:
            self.remove()
            return
        self.display = state.phase is not Phase.STOPPED
        hello = HELLO.format(key=keys_of(self))
        self.words = LOADING if state.phase is Phase.STARTING else hello

    def render(self) -> RenderResult:
        return Text(self.words, style="bold")
