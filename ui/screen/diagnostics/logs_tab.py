"""The tab that shows the newest lines of the logs."""

import asyncio
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Static

from assistant.errors import StoreError
from assistant.paths import Home
from ui.screen.diagnostics.log_tail import LEVELS, LogLine, LogTail
from ui.screen.diagnostics.log_view import LogView
from ui.screen.widgets.keys import keys_of
from ui.screen.widgets.lists import FilterLine
from ui.screen.widgets.pane import ErrorOccurred, in_sight

EVERY_S = 0.5
EMPTY = "The log of the assistant's own work appears here. It contains nothing you said."
FILES = {"assistant": "the assistant's log", "native": "the libraries' output"}
LEAST = {"INFO": "all levels", "WARNING": "warnings and errors", "ERROR": "errors"}


class LogsTab(Container):
    """Shows one of two logs. New lines are read only while the tab is visible."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "least('INFO')", "All", id="logs.all"),
        Binding("w", "least('WARNING')", "Warnings", id="logs.warnings"),
        Binding("e", "least('ERROR')", "Errors", id="logs.errors"),
        Binding("n", "other", "Other log", id="logs.other"),
        Binding("slash", "filter", "Filter", id="logs.filter"),
    ]
    DEFAULT_CSS = """
    LogsTab { layout: vertical; }
    LogsTab > #about { height: auto; padding: 0 1; }
    """

    def __init__(self, home: Home) -> None:
        super().__init__()
        self._home = home
        self._which = "assistant"
        self._least = "INFO"
        self._tail = LogTail(home.log)
        self._busy = False
        self._failed = ""

    def compose(self) -> ComposeResult:
        yield Static(EMPTY, id="about", markup=False)
        yield LogView()
        yield FilterLine("words in a line", LogView, self._narrow)

    def on_mount(self) -> None:
        self.set_interval(EVERY_S, self._look)
        self.watch(self.query_one(LogView), "unread", self._describe)

    def on_show(self) -> None:
        self._look()

    # -- reading --------------------------------------------------------------------------------

    def _look(self) -> None:
        if in_sight(self) and not self._busy:
            self._busy = True
            self.run_worker(self._read(), group="read")

    async def _read(self) -> None:
        tail = self._tail
        try:
            lines = await asyncio.to_thread(tail.read)
        except OSError as error:
            self._fail(f"The log can't be read: {error.strerror}.")
            return
        finally:
            self._busy = False
        self._failed = ""
        if tail is self._tail and lines:
            self.query_one(LogView).add(lines)
            self._describe()

    def _fail(self, sentence: str) -> None:
        """Show an error, unless the previous attempt to read failed with the same error."""
        if sentence != self._failed:
            self._failed = sentence
            self.post_message(ErrorOccurred(StoreError(sentence)))

    # -- drawing ----------------------------------------------------------------------------------

    def _describe(self) -> None:
        view = self.query_one(LogView)
        words = self.query_one(FilterLine).value.strip()
        text = Text.assemble((FILES[self._which], "bold"), f", {LEAST[self._least]}")
        if words:
            text.append(f', with "{words}"')
        if view.unread:
            key = keys_of(view)["list.bottom"]
            text.append(f"   +{view.unread} new, {key} shows them", style="bold yellow")
        if view.empty:
            text.append(f"\n\n{EMPTY if not view.held else 'No line matches.'}", style="dim")
        self.query_one("#about", Static).update(text)

    def _narrow(self) -> None:
        words, least = self.query_one(FilterLine).words, LEVELS.index(self._least)

        def wanted(line: LogLine) -> bool:
            if -1 < line.grave < least:
                return False
            whole = f"{line.level} {line.logger} {line.text}".casefold()
            return all(word in whole for word in words)

        self.query_one(LogView).only(wanted)
        self._describe()

    def action_least(self, level: str) -> None:
        self._least = level
        self._narrow()

    def action_other(self) -> None:
        """Switch between the assistant's log and the output of libraries."""
        self._which = "native" if self._which == "assistant" else "assistant"
        file = self._home.native_log if self._which == "native" else self._home.log
        self._tail = LogTail(file)
        self.query_one(LogView).clear()
        self._narrow()
        self._look()

    def action_filter(self) -> None:
        self.query_one(FilterLine).open()
