"""The application that draws the screen: its tabs, its keys, and the actions of the keys.

It receives events from a session and sends commands to that session.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import ClassVar

from textual import work
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.screen import Screen
from textual.widgets import Footer, Input, TabbedContent, TabPane

from assistant.errors import AssistantError, SettingsError
from assistant.events import Event, Notice, Phase, PhaseChanged, Severity
from assistant.forms import FormLibrary
from assistant.paths import Home
from assistant.settings import Loaded
from assistant.settings import Screen as ScreenSettings
from ui.screen.diagnostics.latency_tab import LatencyTab
from ui.screen.diagnostics.logs_tab import LogsTab
from ui.screen.first_run.first_run import FirstRun
from ui.screen.memory.tab import MemoryTab
from ui.screen.organiser.tab import OrganiserTab
from ui.screen.safe_app import SafeApp
from ui.screen.settings.tab import SettingsTab
from ui.screen.status_line import LEAST_HEIGHT, LEAST_WIDTH, NoticeLine, StatusLine, TooSmall
from ui.screen.talk.conversation_pane import Conversation
from ui.screen.talk.tab import TalkTab
from ui.screen.widgets.keys import keys_of
from ui.screen.widgets.pane import (
    ErrorOccurred,
    OpenMemory,
    OpenTurn,
    Pane,
    SettingsChanged,
    reporting,
)
from ui.session.session import Session
from ui.session.settings_file import set_setting
from ui.session.state import ScreenState, fold
from ui.text.forgetting import lines

FRAME_S = 1 / 15
"""Minimum number of seconds between two drawings of the state."""
WAITING_S = 0.4
"""Minimum number of seconds between two drawings while the user speaks or waits for an answer. The
models need the processor then."""
SPEAKING_S = 1 / 6
"""Minimum number of seconds between two drawings while the assistant speaks. A spoken word takes
about as long."""
LAST_LINE_S = 0.1
"""Seconds from the first frame until the assistant is started. In this time, the footer with the
keys is drawn."""
PACE = {Phase.HEARING: WAITING_S, Phase.THINKING: WAITING_S, Phase.SPEAKING: SPEAKING_S}
TABS = ("talk", "memory", "latency", "settings", "logs", "organiser")


class AssistantScreen(SafeApp):
    """Collects the session's events in a `ScreenState`, and draws that state.

    The result of the app is an exit code.
    """

    TITLE = "assistant"
    CSS = "TabbedContent, TabPane { height: 1fr; padding: 0; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"tab('{name}')", name.capitalize(), id=f"tab.{name}", show=False)
            for number, name in enumerate(TABS, start=1)
        ),
        Binding("space", "mute", "Mute", id="voice.mute"),
        Binding("x", "do('stop')", "Stop speaking", id="voice.stop"),
        Binding("t", "do('talk')", "Push to talk", id="voice.talk", show=False),
        Binding("s", "sleep", "Sleep or wake", id="voice.sleep", show=False),
        Binding("o", "record", "On or off the record", id="voice.off_record", show=False),
        Binding("r", "do('record')", "Start or stop recording", id="session.record", show=False),
        # A key with priority is handled before any widget gets it, and before the next key press.
        Binding("i", "type", "Type", id="voice.type", priority=True),
        Binding("slash", "find", "Find", id="find", priority=True),
        Binding("u", "undo", "Undo", id="undo"),
        Binding("y", "copy", "Copy", id="copy", show=False),
        Binding("ctrl+r", "restart", "Start again", id="voice.restart"),
        Binding("escape", "dismiss", "Dismiss", id="dismiss", show=False),
        Binding("question_mark", "help", "Help", id="help"),
        Binding("ctrl+q", "quit", "Quit", id="quit", priority=True),
    ]

    def __init__(
        self,
        session: Session,
        home: Home,
        loaded: Loaded,
        driver: type[Driver] | None = None,
        first_run: FirstRun | None = None,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        """
        Args:
            now: returns the current local time, from which ages are computed.
        """
        # With NO_COLOR, use only the terminal's own two colours. Textual would otherwise derive
        # shades of grey from colours that only the terminal knows, and may draw black on black.
        super().__init__(driver_class=driver, ansi_color=True if "NO_COLOR" in os.environ else None)
        self.HORIZONTAL_BREAKPOINTS = [(0, "-slim"), (LEAST_WIDTH, "-narrow"), (100, "-wide")]
        self.VERTICAL_BREAKPOINTS = [(0, "-low"), (LEAST_HEIGHT, "-high")]
        self.animation_level = "none"  # animation would slow down speech recognition and output
        if loaded.settings.screen.theme in self.available_themes:
            self.theme = loaded.settings.screen.theme  # if set later, all widgets are styled twice
        self.session = session
        self.home = home
        self.loaded = loaded
        self.now = now
        self.first_run = first_run
        self.state = ScreenState()
        self.error: AssistantError | None = None
        """The error that ended the assistant, if any."""
        self._drawn = -1
        self._due = False
        self._begun = False
        self._muted_for_now = False

    # -- lifecycle ------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        yield StatusLine(self.session.live)
        yield NoticeLine()
        tabs = (
            TalkTab(self.session, self.now),
            MemoryTab(self.session, self.now),
            LatencyTab(),
            SettingsTab(self.session, self.home, self.loaded),
            LogsTab(self.home),
            OrganiserTab(self.session, self.now, FormLibrary(self.home.forms)),
        )
        with TabbedContent(initial="talk"):
            for number, (name, tab) in enumerate(zip(TABS, tabs, strict=True), start=1):
                yield TabPane(f"{number} {name.capitalize()}", tab, id=name)
        yield TooSmall()
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self._apply(self.loaded.settings.screen)
        self.theme_changed_signal.subscribe(self, self._save_theme)
        self.app_suspend_signal.subscribe(self, self._suspended)
        self.app_resume_signal.subscribe(self, self._resumed)
        self.call_after_refresh(self.set_timer, LAST_LINE_S, self._open)

    @work(exclusive=True, group="opening")
    async def _open(self) -> None:
        """Start or restart the assistant, and guide the user through the first steps if needed.

        Runs in a worker, because it may show dialogs.
        """
        guide = self.first_run
        try:
            if guide is not None and not guide.first:
                await self._begin()
                if not await guide.missing(self.loaded.settings):
                    return
                await self.session.close()
                self._forget_end()
            if guide is not None:
                settings = await guide.lead(self, self.loaded.settings)
                self.loaded = replace(self.loaded, settings=settings)
            await self._begin()
        except AssistantError as error:
            await self.session.close()
            self.ended(error)

    async def _begin(self) -> None:
        self._name_assistant()
        self.query_one(SettingsTab).runs(self.loaded.settings)
        if self._begun or self.first_run is not None:
            await self.session.restart(self.loaded.settings)
        if not self._begun:
            self._begun = True
            await self.session.start(self.hear, self.ended)

    def _forget_end(self) -> None:
        """Discard the error of the previous process, because a new process is starting."""
        self.error = None
        for each in self.state.notices:
            each.dismissed = each.dismissed or each.notice.severity is Severity.ERROR
        self.hear(PhaseChanged(Phase.STARTING), datetime.now(UTC))
        self.refresh_bindings()

    async def action_quit(self) -> None:
        await self.session.close()
        self.exit(self.error.exit_code if self.error is not None else 0)

    # -- events -----------------------------------------------------------------------------------

    def hear(self, event: Event, at: datetime) -> None:
        """Apply an event to the state, and draw the state soon."""
        fold(self.state, event, at)
        self._draw_soon()

    def ended(self, error: AssistantError | None) -> None:
        """Show the error that ended the session, if any. Called after the last event."""
        self.error = error
        if error is not None:
            mend = " · ".join(filter(None, (error.mend, keys_of(self)["voice.restart"])))
            now = datetime.now(UTC)
            self.hear(PhaseChanged(Phase.STOPPED), now)
            self.hear(Notice(str(error), Severity.ERROR, f"{mend} restarts the assistant"), now)
            self.refresh_bindings()

    def tell(self, error: AssistantError) -> None:
        """Show an error in the notice line until it is dismissed."""
        self.hear(Notice(str(error), Severity.WARNING, error.mend), datetime.now(UTC))

    def on_error_occurred(self, message: ErrorOccurred) -> None:
        self.tell(message.error)

    @property
    def up_to_date(self) -> bool:
        """Whether the screen shows all events received so far."""
        return self._drawn == self.state.version

    def _draw_soon(self) -> None:
        if not self._due:
            self._due = True
            self.set_timer(PACE.get(self.state.phase, FRAME_S), self._draw)

    def _draw(self) -> None:
        self._due = False
        if self.state.version == self._drawn or not self.screen_stack:  # app is closing
            return
        self._drawn = self.state.version
        for pane in self.screen_stack[0].query(Pane):
            if all(node.display for node in pane.ancestors if isinstance(node, TabPane)):
                pane.show(self.state)

    def on_tabbed_content_tab_activated(self) -> None:
        self.call_after_refresh(self._draw_anew)

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw_anew)

    def _draw_anew(self) -> None:
        self._drawn = -1
        self._draw()

    # -- keys -----------------------------------------------------------------------------------

    def action_tab(self, name: str) -> None:
        self.query_one(TabbedContent).active = name
        tab = self.query_one(f"#{name}", TabPane)
        for widget in tab.query("*"):
            shown = all(node.display for node in widget.ancestors_with_self if node is not tab)
            if shown and widget.focusable and not isinstance(widget, Input):
                widget.focus()
                return

    def action_do(self, command: str) -> None:
        self.session.do(command)

    def action_mute(self) -> None:
        """Mute or unmute the microphone; with push-to-talk, start or stop listening."""
        if self.loaded.settings.audio.push_to_talk:
            self.session.do("talk")
        else:
            self.session.do("unmute" if self.state.phase is Phase.MUTED else "mute")

    def action_sleep(self) -> None:
        self.session.do("wake" if self.state.phase is Phase.ASLEEP else "sleep")

    def action_record(self) -> None:
        self.session.do("on-record" if self.state.off_record else "off-record")

    def action_restart(self) -> None:
        self._forget_end()
        self._open()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable `restart` during a session, and `type` and `find` in dialogs and input lines."""
        if action == "restart":
            return self.session.live and self.state.phase is Phase.STOPPED
        if action in ("type", "find"):
            return len(self.screen_stack) == 1 and not isinstance(self.focused, Input)
        return super().check_action(action, parameters)

    def action_type(self) -> None:
        self.query_one(TabbedContent).active = "talk"
        self.query_one(TalkTab).type()

    def action_find(self) -> None:
        """Search the visible tab if it supports searching; otherwise search the memories."""
        tabs = self.query_one(TabbedContent)
        if tabs.active == "settings":
            self.query_one(SettingsTab).find()
        elif tabs.active == "logs":
            self.query_one(LogsTab).action_filter()
        else:
            tabs.active = "memory"
            self.query_one(MemoryTab).find()

    async def action_undo(self) -> None:
        with reporting(self):  # the request fails if there is no deletion to undo
            rows = await self.session.ask({"act": "undo"})
            self.notify(" ".join(lines(rows[0])))

    def action_copy(self) -> None:
        turn = self.state.turn
        if turn is not None:
            self.copy_to_clipboard(turn.heard or turn.user)
            self.notify("Copied the last answer." if turn.heard else "Copied your words.")

    def action_dismiss(self) -> None:
        """Leave the focused input line; if there is none, dismiss the warning or error shown."""
        if isinstance(self.focused, Input):
            self.screen.set_focus(None)
        elif (trouble := self.state.trouble) is not None:
            trouble.dismissed = True
            self.state.version += 1
            self._draw_soon()

    def action_help(self) -> None:
        """Show or hide the panel that lists the keys available now."""
        if self.screen.query("HelpPanel"):
            self.action_hide_help_panel()
        else:
            self.action_show_help_panel()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield the entries of the command palette: all actions with a key, and the themes."""
        seen = set()
        for node, binding, enabled, _ in screen.active_bindings.values():
            if enabled and binding.description and binding.action not in seen:
                seen.add(binding.action)
                keys = self.get_key_display(binding)
                yield SystemCommand(
                    binding.description,
                    f"{keys}: {binding.tooltip or binding.description.lower()}",
                    lambda action=binding.action, node=node: self.run_action(action, node),
                )
        yield SystemCommand("Theme", "colours of the screen", self.action_change_theme)

    # -- from one part to another ---------------------------------------------------------------

    def on_open_turn(self, message: OpenTurn) -> None:
        self.action_tab("talk")
        self.query_one(TalkTab).open_turn(message.turn)

    def on_open_memory(self, message: OpenMemory) -> None:
        self.action_tab("memory")
        self.query_one(MemoryTab).open(message.memory)

    def _suspended(self, _: object) -> None:
        """Mute the microphone while the screen is in the background and nobody watches it."""
        self._muted_for_now = self.state.phase not in (Phase.MUTED, Phase.STOPPED)
        if self._muted_for_now:
            self.session.do("mute")

    def _resumed(self, _: object) -> None:
        self.refresh(layout=True)  # the terminal has lost its contents
        if self._muted_for_now and not self.loaded.settings.audio.push_to_talk:
            self.session.do("unmute")

    def on_settings_changed(self, message: SettingsChanged) -> None:
        """Apply screen settings at once. Other settings apply when the assistant is restarted."""
        screen = message.loaded.settings.screen
        if message.restarted:
            self.error = None
            self.hear(PhaseChanged(Phase.STARTING), datetime.now(UTC))
            self.loaded = message.loaded
            self._name_assistant()
        else:
            self._remember(screen)
        self._apply(screen)

    def _name_assistant(self) -> None:
        """Pass the assistant's current name to the conversation pane."""
        self.query_one(Conversation).assistant = self.loaded.settings.persona.name

    def _apply(self, screen: ScreenSettings) -> None:
        """Apply the theme and the keys in these settings."""
        if screen.theme in self.available_themes:
            self.theme = screen.theme
        else:
            sentence = f"There is no theme {screen.theme!r}. To list all themes: ctrl+p, Theme."
            self.tell(SettingsError(sentence))
        self.set_keymap(screen.keys)

    def _remember(self, screen: ScreenSettings) -> None:
        settings = self.loaded.settings.model_copy(update={"screen": screen})
        self.loaded = replace(self.loaded, settings=settings)

    def _save_theme(self, _: object) -> None:
        screen = self.loaded.settings.screen
        if self.theme != screen.theme:
            with reporting(self):
                set_setting(self.home, "screen.theme", self.theme)
                self._remember(screen.model_copy(update={"theme": self.theme}))
