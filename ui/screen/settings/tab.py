"""Devices, models and all other settings; and the restart that applies them."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import ContentSwitcher, OptionList, Static, Tab, Tabs

from assistant.errors import AssistantError, ModelMissing
from assistant.paths import Home
from assistant.settings import Loaded, Settings
from ui.screen.settings.devices_pane import DevicesPane
from ui.screen.settings.model import SettingsModel
from ui.screen.settings.model_jobs import open_store
from ui.screen.settings.models_pane import ModelsPane
from ui.screen.settings.settings_pane import OpenPart, SettingsFileChanged, SettingsPane
from ui.screen.settings.sound_probe_client import AudioProbe, AudioProbeProcess
from ui.screen.widgets.messages import ErrorOccurred, SettingsChanged
from ui.session.session import Session

if TYPE_CHECKING:
    from models.download import ModelStore

PARTS = {"every": "Settings", "devices": "Devices", "models": "Models"}


class PartTabs(Tabs, can_focus=False):
    """Chosen with the mouse or the tab's own keys: the focus stays in the part shown."""


class SettingsTab(Container):
    """Three parts, one at a time, sharing one model of the settings.

    Args:
        store, sound, missing, reason: for tests; default: this machine's.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "part(-1)", "Part before", id="settings.before", show=False),
        Binding("right", "part(1)", "Next part", id="settings.next", show=False),
        Binding("r", "restart", "Restart", id="settings.restart"),
    ]
    DEFAULT_CSS = """
    SettingsTab { layout: vertical; }
    SettingsTab PartTabs { height: 2; }
    SettingsTab ContentSwitcher { height: 1fr; }
    SettingsTab > #waiting { height: auto; padding: 0 1; display: none; }
    SettingsTab > #waiting.-any { display: block; }
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
        self._book = SettingsModel(home, loaded)
        self._store = store or open_store
        self._sound = sound or AudioProbeProcess()
        self._missing = missing or missing_models
        self._reason = reason or model_reason
        self._restarting = False

    def compose(self) -> ComposeResult:
        yield PartTabs(*(Tab(label, id=f"settings-{part}") for part, label in PARTS.items()))
        with ContentSwitcher(initial="every"):
            yield SettingsPane(self._book)
            yield DevicesPane(self._book, self._sound)
            yield ModelsPane(self._book, self._store, self._home, self._reason)
        yield Static(id="waiting", markup=False)

    # -- parts ----------------------------------------------------------------------------------

    def action_part(self, step: int) -> None:
        names = list(PARTS)
        here = names.index(self.query_one(ContentSwitcher).current or "every")
        self.open(names[(here + step) % len(names)])

    def open(self, part: str) -> None:
        """Show one of `PARTS` and focus it."""
        self._show(part)
        self.query_one(f"#{part}").query(OptionList).first().focus()

    def _show(self, part: str) -> None:
        self.query_one(PartTabs).active = f"settings-{part}"
        self.query_one(ContentSwitcher).current = part

    def find(self) -> None:
        """Filter the list of settings by what is typed next."""
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

    # -- what is in force -----------------------------------------------------------------------

    def on_show(self, _: events.Show) -> None:
        """Read the file again: the theme menu or an editor may have changed it."""
        self.run_worker(self._reread(), exclusive=True, group="reread")

    async def _reread(self) -> None:
        try:
            await asyncio.to_thread(self._book.reread)
        except AssistantError as error:
            self.post_message(ErrorOccurred(error))
            return
        self._renew()

    def on_settings_file_changed(self, message: SettingsFileChanged) -> None:
        message.stop()
        self._renew()
        self.post_message(SettingsChanged(self._book.loaded, restarted=False))

    def _renew(self) -> None:
        self.query_one(SettingsPane).renew()
        self.query_one(DevicesPane).renew()
        self.query_one(ModelsPane).renew()
        waiting = self._book.waiting()
        line = self.query_one("#waiting", Static)
        line.set_class(bool(waiting), "-any")
        told = f"Restart needed for {', '.join(waiting)}: press r."
        line.update(Text(told, style="bold yellow", no_wrap=True, overflow="ellipsis"))

    def runs(self, settings: Settings) -> None:
        """The assistant was started elsewhere, with these settings."""
        self._book.started = settings
        self._renew()

    # -- restart --------------------------------------------------------------------------------

    def action_restart(self) -> None:
        if self._session.live and not self._restarting:
            self._restarting = True
            self.run_worker(self._restart(), group="restart")

    async def _restart(self) -> None:
        settings = self._book.loaded.settings
        try:
            missing = await asyncio.to_thread(self._missing, settings)
            if missing:
                raise ModelMissing(
                    f"Not on this machine yet: {', '.join(missing)}.",
                    mend="Download them in Settings, Models, then restart.",
                )
            self.notify("The assistant has been restarted.")
            self.post_message(SettingsChanged(self._book.loaded, restarted=True))
            await self._session.restart(settings)
        except AssistantError as error:
            self.post_message(ErrorOccurred(error))
            return
        finally:
            self._restarting = False
        self._book.restarted()
        self._renew()


def missing_models(settings: Settings) -> list[str]:
    """Models that these settings use and that must be downloaded first. Blocking.

    Raises:
        SettingsError: there is no such profile.
    """
    from models.selection import select_models, wanted_models

    shop = select_models(settings)
    return shop.store.missing(wanted_models(settings, shop))


def model_reason(settings: Settings) -> str | None:
    """Why the profile has its language model; None if the settings name another. Blocking.

    Raises:
        SettingsError: there is no such profile.
    """
    from models.selection import select_models

    if settings.llm.model is not None or settings.llm.endpoint is not None:
        return None
    return select_models(settings).reason
