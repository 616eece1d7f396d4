"""The base class of the three parts of the settings tab."""

import asyncio
from collections.abc import Callable

from rich.text import Text
from textual.containers import Container
from textual.message import Message
from textual.widgets import Static

from ui.screen.widgets.pane import reporting


class SettingsFileChanged(Message):
    """The settings file has changed, and has been read again."""


class SettingsPart(Container):
    """A list, and below it (`#details`) details of the option under the cursor."""

    DEFAULT_CSS = """
    SettingsPart { layout: vertical; height: 1fr; }
    SettingsPart > #details { height: 3; padding: 0 1; border-top: solid $primary; }
    """

    def renew(self) -> None:
        """Redraw the list; the cursor keeps its place."""
        raise NotImplementedError

    def details(self) -> Text:
        raise NotImplementedError

    def explain(self) -> None:
        """Redraw the details."""
        self.query_one("#details", Static).update(self.details())

    def on_option_list_option_highlighted(self) -> None:
        self.explain()

    async def save(self, change: Callable[..., object], *arguments: str) -> None:
        """Change the settings file on another thread; errors are shown."""
        with reporting(self):
            await asyncio.to_thread(change, *arguments)
            self.explain()
            self.post_message(SettingsFileChanged())
