"""One part of the screen by itself, to drive with keys: quicker than the whole screen."""

from textual.app import App, ComposeResult
from textual.message import Message
from textual.widget import Widget

from assistant.errors import AssistantError
from ui.screen.widgets.pane import ErrorOccurred, SettingsChanged


class PaneApp(App[None]):
    """Notes what the part tells the screen."""

    def __init__(self, part: Widget) -> None:
        super().__init__()
        self.part = part
        self.troubles: list[AssistantError] = []
        self.changes: list[SettingsChanged] = []
        self.told: list[str] = []
        self.others: list[Message] = []

    def compose(self) -> ComposeResult:
        yield self.part

    def on_error_occurred(self, message: ErrorOccurred) -> None:
        self.troubles.append(message.error)

    def on_settings_changed(self, message: SettingsChanged) -> None:
        self.changes.append(message)

    def notify(self, message: str, **_options: object) -> None:
        self.told.append(message)
