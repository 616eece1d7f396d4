"""A real terminal to drive a program in: a private tmux server, which takes keys and shows text.

with Terminal(assistant_screen(home), env={"NO_COLOR": "1"}) as terminal:
    terminal.wait_for("listening")
    terminal.press("i")
    terminal.type("Hello.")
    terminal.press("Enter")
    terminal.wait_for(re.compile(r"Ada .*\\w"))
    terminal.press("C-q")
    assert terminal.wait_end() == 0
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil

from assistant.paths import models_cache
from tests.support.patience import PATIENCE_S

LOOK_EVERY_S = 0.05
ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = """\
set -g default-terminal tmux-256color
set -g escape-time 0
set -g remain-on-exit on
set -g remain-on-exit-format ""
set -g status off
"""

Sought = str | re.Pattern[str] | Callable[[str], bool]
"""Words on the screen, a pattern to search for, or a predicate on the whole text."""


class TerminalError(AssertionError):
    """The awaited text did not appear; the error holds what was on the screen instead."""


def assistant_screen(home: Path, *arguments: str) -> list[str]:
    """The command that opens the screen on this home, with the smallest models."""
    flags = ["--home", str(home), "--profile", "tiny"]
    return [sys.executable, "-m", "ui.commands.main", *flags, *arguments]


class Terminal:
    """A terminal with one program; both end with the block, as do all processes that it started.

    Args:
        env: variables added to this process's environment; None removes a variable.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str | None] | None = None,
        width: int = 120,
        height: int = 40,
        cwd: Path = ROOT,
    ) -> None:
        self._exit = ExitStack()
        folder = Path(self._exit.enter_context(tempfile.TemporaryDirectory(prefix="tmux-")))
        self._socket = str(folder / "socket")
        configuration = folder / "tmux.conf"
        configuration.write_text(CONFIGURATION)
        self._seen: dict[int, psutil.Process] = {}
        variables = {
            **{name: value for name, value in os.environ.items() if name != "TMUX"},
            "PYTHONPATH": os.pathsep.join(
                filter(None, (str(ROOT), os.environ.get("PYTHONPATH", "")))
            ),
            "ASSISTANT_MODELS_CACHE": str(models_cache()),
            "LC_ALL": "C.UTF-8",
            **(env or {}),
        }
        size = ("-x", str(width), "-y", str(height))
        begin = ["tmux", "-S", self._socket, "-f", str(configuration), "-u", "new-session", "-d"]
        told = subprocess.run(
            [*begin, *size, "-P", "-F", "#{pane_pid}", "--", *command],
            env={name: value for name, value in variables.items() if value is not None},
            cwd=cwd,
            capture_output=True,
            check=True,
            timeout=PATIENCE_S,
        )
        self.pid = int(told.stdout)
        """The process id of the program itself."""

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the processes that are left, no matter how the block ends."""
        self.processes()
        self._tmux("kill-server", check=False)
        for process in self._seen.values():
            if process.is_running():
                process.kill()
        psutil.wait_procs(list(self._seen.values()), timeout=PATIENCE_S)
        self._exit.close()

    # -- input -------------------------------------------------------------------------------------

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names: `a`, `Enter`, `Escape`, `C-q`, `Up`."""
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Type this text literally."""
        self._tmux("send-keys", "-l", "--", text)

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def hang_up(self) -> None:
        """Close the window, as its user does: its processes get SIGHUP and lose the terminal."""
        self.processes()
        # Another window keeps the server, and with it this object, alive.
        self._tmux("new-window", "-d", "sleep 600")
        self._tmux("kill-window", "-t", ":0")

    # -- output ------------------------------------------------------------------------------------

    def text(self) -> str:
        """All lines of the screen, without trailing blanks."""
        return self._tmux("capture-pane", "-p")

    def coloured(self) -> str:
        """All lines of the screen, with the escape sequences for colours and styles."""
        return self._tmux("capture-pane", "-p", "-e")

    def flag(self, name: str) -> bool:
        """A flag of tmux: `alternate_on`, `cursor_flag`, `mouse_any_flag` or `pane_dead`."""
        return self._tmux("display-message", "-p", f"#{{{name}}}").strip() == "1"

    def wait_for(self, sought: Sought, timeout: float = PATIENCE_S) -> str:
        """The text of the screen once it shows what is sought.

        Raises:
            TerminalError: it isn't shown within `timeout` seconds, or the program ends first.
        """
        return self._wait(sought, timeout, lambda text: _shows(text, sought))

    def wait_gone(self, sought: Sought, timeout: float = PATIENCE_S) -> str:
        """The text of the screen once what is sought is no longer shown. Raises as `wait_for`."""
        return self._wait(sought, timeout, lambda text: not _shows(text, sought))

    def wait_end(self, timeout: float = PATIENCE_S) -> int:
        """Wait for the program's end; returns its exit code. The terminal can still be read then.

        If a signal ended the program, the code is 128 plus the signal's number.
        """
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            told = self._tmux("display-message", "-p", "#{pane_dead_status}|#{pane_dead_signal}")
            status, _, number = told.strip().partition("|")
            if status or number:
                return int(status) if status else 128 + int(number)
            # tmux 3.3a sometimes misses this signal and leaves the program unreaped.
            os.kill(int(self._tmux("display-message", "-p", "#{pid}")), signal.SIGCHLD)
            time.sleep(LOOK_EVERY_S)
        raise TerminalError(f"The program did not end:\n{self.text()}")

    # -- processes ------------------------------------------------------------------------------

    def processes(self) -> list[psutil.Process]:
        """The program and its descendants that still run. A process that was seen once is
        remembered even when its parent has ended."""
        with suppress(psutil.NoSuchProcess):
            program = self._seen.get(self.pid) or psutil.Process(self.pid)
            for process in [program, *program.children(recursive=True)]:
                self._seen.setdefault(process.pid, process)
        return [process for process in self._seen.values() if _runs(process)]

    def hosted(self) -> psutil.Process:
        """The assistant's own process, behind the screen's."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            for process in self.processes():
                if "ui.session.assistant_worker" in _command(process):
                    return process
            time.sleep(LOOK_EVERY_S)
        raise TerminalError(f"The assistant's process did not start:\n{self.text()}")

    def wait_processes_end(self, timeout: float = PATIENCE_S) -> list[psutil.Process]:
        """Wait for all processes to end; returns those still running after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY_S)
        return left

    # -- internals ---------------------------------------------------------------------------------

    def _wait(self, sought: Sought, timeout: float, satisfied: Callable[[str], bool]) -> str:
        deadline = time.monotonic() + timeout
        while True:
            ended = self.flag("pane_dead")
            text = self.text()
            if satisfied(text):
                return text
            if ended or time.monotonic() > deadline:
                why = "the program has ended" if ended else f"waited {timeout:.0f} s"
                raise TerminalError(f"Waiting for {sought!r}: {why}; the screen shows:\n{text}")
            time.sleep(LOOK_EVERY_S)

    def _tmux(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, "-u", *arguments],
            capture_output=True,
            timeout=PATIENCE_S,
            check=check,
        )
        return done.stdout.decode("utf-8", "replace")


def _shows(text: str, sought: Sought) -> bool:
    if isinstance(sought, str):
        return sought in text
    if isinstance(sought, re.Pattern):
        return sought.search(text) is not None
    return sought(text)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []
