"""The base class of the three parts of the settings tab: settings, devices and models."""

import asyncio
from collections.abc import Callable

from rich.text import Text
from textual.containers import Container
from textual.message import Message
from textual.widgets import Static

from ui.screen.widgets.pane import reporting


class SettingsFileChanged(Message):
    """Sent when the user has changed a setting. The settings have been read again by then."""


class SettingsPart(Container):
    """Shows a list and, below the list, the widget `#details` about the option under the cursor."""

    DEFAULT_CSS = """
    SettingsPart { layout: vertical; height: 1fr; }
    SettingsPart > #details { height: 3; padding: 0 1; border-top: solid $primary; }
    """

    def renew(self) -> None:
        """Redraw the list without moving the cursor."""
        raise NotImplementedError

    def details(self) -> Text:
        raise NotImplementedError

    def explain(self) -> None:
        """Redraw the details of the option under the cursor."""
        self.query_one("#details", Static).update(self.details())

    def on_option_list_option_highlighted(self) -> None:
        self.explain()

    async def save(self, change: Callable[..., object], *arguments: str) -> None:
        """Call `change`, which writes the settings file, on another thread. Show its errors."""
        with reporting(self):
            await asyncio.to_thread(change, *arguments)
            self.explain()
            self.post_message(SettingsFileChanged())
