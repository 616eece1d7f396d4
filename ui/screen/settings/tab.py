"""The tab in which the user changes settings, devices and models, and restarts the assistant."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import ContentSwitcher, OptionList, Static, Tab, Tabs

from assistant.errors import ModelMissing
from assistant.paths import Home
from assistant.settings import Loaded, Settings
from ui.screen.settings.devices_pane import DevicesPane
from ui.screen.settings.model import SettingsModel
from ui.screen.settings.model_jobs import open_store
from ui.screen.settings.models_pane import ModelsPane
from ui.screen.settings.part import SettingsFileChanged, SettingsPart
from ui.screen.settings.settings_pane import OpenPart, SettingsPane
from ui.screen.settings.sound_probe_client import AudioProbe, AudioProbeProcess
from ui.screen.widgets.keys import keys_of, when_keys_change
from ui.screen.widgets.pane import SettingsChanged, reporting
from ui.session.session import Session

if TYPE_CHECKING:
    from models.download import ModelStore

PARTS = {"every": "Settings", "devices": "Devices", "models": "Models"}


class PartTabs(Tabs, can_focus=False):
    """The labels of the parts of the settings tab.

    The user chooses a part with the mouse or the tab's keys. The labels never get the focus.
    """


class SettingsTab(Container):
    """Shows one of three parts at a time. The parts share a `SettingsModel`.

    Args:
        store: opens the store of models. Default: `open_store`.
        sound: queries the sound devices. Default: those of this machine.
        missing: returns the models to download before a restart. Default: `missing_models`.
        reason: returns why the profile uses its language model. Default: `model_reason`.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "part(-1)", "Previous part", id="settings.before", show=False),
        Binding("right", "part(1)", "Next part", id="settings.next", show=False),
        Binding("r", "restart", "Restart", id="settings.restart"),
    ]
    DEFAULT_CSS = """
    SettingsTab { layout: vertical; }
    SettingsTab PartTabs { height: 2; }
    SettingsTab ContentSwitcher { height: 1fr; }
    SettingsTab > #waiting { height: auto; padding: 0 1; display: none; }
    """

    def __init__(
        self,
        session: Session,
        home: Home,
        loaded: Loaded,
        *,
        store: "Callable[[], ModelStore] | None" = None,
        sound: AudioProbe | None = None,
        missing: Callable[[Settings], list[str]] | None = None,
        reason: Callable[[Settings], str | None] | None = None,
    ) -> None:
        super().__init__()
        self._session = session
        self._home = home
        self._settings = SettingsModel(home, loaded)
        self._store = store or open_store
        self._sound = sound or AudioProbeProcess()
        self._missing = missing or missing_models
        self._reason = reason or model_reason
        self._restarting = False
        self._waiting: list[str] = []
        """The changed settings that need a restart."""

    def compose(self) -> ComposeResult:
        yield PartTabs(*(Tab(label, id=f"settings-{part}") for part, label in PARTS.items()))
        with ContentSwitcher(initial="every"):
            yield SettingsPane(self._settings)
            yield DevicesPane(self._settings, self._sound)
            yield ModelsPane(self._settings, self._store, self._home, self._reason)
        yield Static(id="waiting", markup=False)

    def on_mount(self) -> None:
        when_keys_change(self, self._say_what_waits)

    # -- parts ----------------------------------------------------------------------------------

    def action_part(self, step: int) -> None:
        names = list(PARTS)
        here = names.index(self.query_one(ContentSwitcher).current or "every")
        self.open(names[(here + step) % len(names)])

    def open(self, part: str) -> None:
        """Show one of `PARTS` and focus its list."""
        self._show(part)
        self.query_one(f"#{part}").query(OptionList).first().focus()

    def _show(self, part: str) -> None:
        self.query_one(PartTabs).active = f"settings-{part}"
        self.query_one(ContentSwitcher).current = part

    def find(self) -> None:
        """Show the list of settings, and open the line that filters it."""
        self._show("every")
        self.query_one(SettingsPane).action_filter()

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        event.stop()
        part = (event.tab.id or "settings-every").removeprefix("settings-")
        if part != self.query_one(ContentSwitcher).current:
            self.open(part)

    def on_open_part(self, message: OpenPart) -> None:
        message.stop()
        self.open(message.part)

    # -- current settings -----------------------------------------------------------------------

    @work(exclusive=True, group="reread")
    async def on_show(self) -> None:
        """Read the settings again. The theme menu or an editor may have changed the file."""
        with reporting(self):
            await asyncio.to_thread(self._settings.reread)
            self._renew()

    def on_settings_file_changed(self, message: SettingsFileChanged) -> None:
        message.stop()
        self._renew()
        self.post_message(SettingsChanged(self._settings.loaded, restarted=False))

    def _renew(self) -> None:
        for part in self.query(SettingsPart):
            part.renew()
        self._waiting = self._settings.waiting()
        self._say_what_waits()

    def _say_what_waits(self) -> None:
        line = self.query_one("#waiting", Static)
        line.display = bool(self._waiting)
        key = keys_of(self)["settings.restart"]
        text = f"Restart needed for {', '.join(self._waiting)}: press {key}."
        line.update(Text(text, style="bold yellow", no_wrap=True, overflow="ellipsis"))

    def runs(self, settings: Settings) -> None:
        """Called when the assistant is started with these settings."""
        self._settings.started = settings
        self._renew()

    # -- restart --------------------------------------------------------------------------------

    @work(group="restart")
    async def action_restart(self) -> None:
        if not self._session.live or self._restarting:
            return
        self._restarting = True
        settings = self._settings.loaded.settings
        try:
            with reporting(self):
                missing = await asyncio.to_thread(self._missing, settings)
                if missing:
                    raise ModelMissing(
                        f"Not on this machine yet: {', '.join(missing)}.",
                        mend="Download them in Settings, Models, then restart.",
                    )
                self.notify("The assistant is being restarted.")
                self.post_message(SettingsChanged(self._settings.loaded, restarted=True))
                await self._session.restart(settings)
                self.runs(self._settings.loaded.settings)
        finally:
            self._restarting = False


def missing_models(settings: Settings) -> list[str]:
    """Return the names of models required by these settings but not downloaded. Blocking.

    Raises:
        SettingsError: the profile in the settings doesn't exist.
    """
    from ui.session import model_downloads

    return [model.name for model in model_downloads.missing_models(settings)]


def model_reason(settings: Settings) -> str | None:
    """Return why the profile uses its language model, and any better model to try. Blocking.

    The result is None if the settings name a language model or an endpoint themselves.

    Raises:
        SettingsError: the profile in the settings doesn't exist.
    """
    from models.selection import select_models

    if settings.llm.model is not None or settings.llm.endpoint is not None:
        return None
    return select_models(settings).choice.reason_and_advice
