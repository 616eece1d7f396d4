"""A Textual driver that can draw on the terminal while file descriptors 1 and 2 are redirected."""

import os
import select
import sys
import threading
from typing import Any, TextIO

from textual.driver import Driver

from assistant.errors import SettingsError

WITHOUT_CURSOR = frozenset({"dumb", "unknown"})
"""Values of the environment variable TERM for terminals that can only print lines."""


def require_terminal() -> None:
    """Check that the program has a terminal on which a screen can be drawn.

    Raises:
        SettingsError: there is no such terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise SettingsError("The screen needs a terminal.", mend="assistant talk")
    kind = os.environ.get("TERM", "")
    if kind in WITHOUT_CURSOR:
        raise SettingsError(
            f"The screen can't be drawn on this terminal (TERM={kind}).", mend="assistant talk"
        )


PROBE_INTERVAL_S = 0.5
"""Seconds between two checks of whether the terminal has been closed."""


class HangupSafeTerminal:
    """Wraps the terminal's output stream, and drops output once the terminal has been closed.

    If an error reached Textual's writer thread, that thread would end, and the app would wait for
    it for ever. SIGHUP or `TerminalDriver` will end the app."""

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
    """Return a driver class that draws on `out` instead of on file descriptors 1 and 2.

    On Windows, the result is None, so that Textual chooses the driver.
    """
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
            """End the app when the terminal is closed.

            SIGHUP isn't enough, because it only reaches processes with this controlling terminal.
            Without this check, the input thread could go on for ever, reading empty input from the
            closed terminal.
            """
            terminal = select.poll()
            terminal.register(self.fileno, 0)
            while not self.exit_event.wait(PROBE_INTERVAL_S):
                if any(what & select.POLLHUP for _, what in terminal.poll(0)):
                    self._gone()
                    return

        def _gone(self) -> None:
            self._app.call_later(self._app.exit)

    return TerminalDriver
