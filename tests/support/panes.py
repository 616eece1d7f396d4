"""One part of the screen by itself, to drive with keys: quicker than the whole screen."""

from collections.abc import Callable

from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget

from assistant.errors import AssistantError
from ui.screen.messages import SettingsChanged, Trouble

TRIES = 500


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

    def on_trouble(self, message: Trouble) -> None:
        self.troubles.append(message.error)

    def on_settings_changed(self, message: SettingsChanged) -> None:
        self.changes.append(message)

    def notify(self, message: str, **_options: object) -> None:
        self.told.append(message)


async def until(pilot: Pilot[None], happened: Callable[[], bool]) -> None:
    """Raises AssertionError: it takes too long."""
    for _ in range(TRIES):
        if happened():
            await pilot.pause()
            return
        await pilot.pause(0.02)
    raise AssertionError("it never happens")


def shown(app: App[None]) -> str:
    """All that stands on the screen, line by line."""
    strips = app.screen._compositor.render_strips()[: app.size.height]
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)
