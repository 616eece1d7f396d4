"""Textual's driver for a terminal that is no longer on descriptors 1 and 2."""

import os
import select
import sys
import threading
from typing import Any, TextIO

from textual.driver import Driver

from assistant.errors import SettingsError

WITHOUT_CURSOR = frozenset({"dumb", "unknown"})
"""Values of TERM for terminals that only print lines."""


def require_terminal() -> None:
    """Raises SettingsError: there is no terminal, or it can't be drawn on."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise SettingsError("The screen needs a terminal.", mend="assistant talk")
    kind = os.environ.get("TERM", "")
    if kind in WITHOUT_CURSOR:
        raise SettingsError(
            f"The screen can't be drawn on this terminal (TERM={kind}).", mend="assistant talk"
        )


PROBE_INTERVAL_S = 0.5
"""Seconds between two checks whether the terminal is still there."""


class HangupSafeTerminal:
    """A terminal that may disappear: then output is dropped, and SIGHUP ends the program. Otherwise
    Textual's writing thread would end, and everything would wait for that thread for ever."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._gone = False

    def write(self, text: str) -> None:
        try:
            if not self._gone:
                self._out.write(text)
        except OSError:
            self._gone = True

    def flush(self) -> None:
        try:
            if not self._gone:
                self._out.flush()
        except OSError:
            self._gone = True

    def fileno(self) -> int:
        return self._out.fileno()


def drawing_on(out: TextIO) -> type[Driver] | None:
    """A driver that draws on `out`, while libraries' output to descriptors 1 and 2 goes elsewhere;
    None on Windows, where Textual chooses the driver."""
    if sys.platform == "win32":
        return None
    from textual.drivers.linux_driver import LinuxDriver

    class TerminalDriver(LinuxDriver):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            vars(self)["_file"] = HangupSafeTerminal(out)

        def _get_terminal_size(self) -> tuple[int, int]:
            try:
                width, height = os.get_terminal_size(out.fileno())
            except OSError:
                return super()._get_terminal_size()
            return width or 80, height or 24

        def run_input_thread(self) -> None:
            watch = threading.Thread(target=self._watch, name="terminal-watch")
            watch.start()
            try:
                super().run_input_thread()
            except OSError:
                self._gone()
            finally:
                watch.join()  # `exit_event` ends both threads

        def _watch(self) -> None:
            """End the app when the terminal closes. Reading from it then fails, or returns nothing,
            at once and for ever, and SIGHUP only reaches processes that the terminal controls."""
            terminal = select.poll()
            terminal.register(self.fileno, 0)
            while not self.exit_event.wait(PROBE_INTERVAL_S):
                if any(what & select.POLLHUP for _, what in terminal.poll(0)):
                    self._gone()
                    return

        def _gone(self) -> None:
            self._app.call_later(self._app.exit)

    return TerminalDriver
