"""An app with only one part of the screen, to drive with keys: faster than the whole screen."""

from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.widget import Widget

from assistant.errors import AssistantError
from ui.screen.app import AssistantScreen
from ui.screen.widgets.pane import ErrorOccurred, OpenTurn, SettingsChanged


class PaneApp(App[None]):
    """Records the messages that the part sends to the screen.

    It has the screen's keys, because texts name them, but not their actions.
    """

    BINDINGS: ClassVar[list[BindingType]] = AssistantScreen.BINDINGS

    def __init__(self, part: Widget) -> None:
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
        self.part = part
        self.troubles: list[AssistantError] = []
        self.changes: list[SettingsChanged] = []
        self.turns: list[int] = []
        """The numbers of the turns that the part asked to open."""
        self.told: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.part

    def on_error_occurred(self, message: ErrorOccurred) -> None:
        self.troubles.append(message.error)

    def on_settings_changed(self, message: SettingsChanged) -> None:
        self.changes.append(message)

    def on_open_turn(self, message: OpenTurn) -> None:
        self.turns.append(message.turn)

    def notify(self, message: str, **_options: object) -> None:
        self.told.append(message)
