"""The screen as its user opens it, on a pseudo-terminal that takes all that is drawn."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from assistant.paths import Home
from scripts.common.assistant_process import END_S, PATIENCE_S, ROOT, Ended, turns_in

SIZE = (120, 40)
"""Columns and lines."""
FIRST_FRAME = ("2 Memory", "Conversation", "Latency", "Help")
"""Words of the tabs, of panes and of the last line: where all are painted, a frame is."""
LISTENING = "● listening"
QUIT = "\x11"

Figure = Callable[[psutil.Process], float]


@dataclass(frozen=True, slots=True)
class Parts:
    """A figure of each of the screen's processes."""

    screen: float
    assistant: float
    workers: float

    def __sub__(self, other: "Parts") -> "Parts":
        return Parts(
            self.screen - other.screen,
            self.assistant - other.assistant,
            self.workers - other.workers,
        )

    def told(self, factor: float = 1.0, digits: int = 1) -> dict[str, float]:
        """By name; all of it as `total`."""
        values = {
            "screen": self.screen * factor,
            "assistant": self.assistant * factor,
            "workers": self.workers * factor,
        }
        values["total"] = sum(values.values())
        return {name: round(value, digits) for name, value in values.items()}


class OnTerminal:
    """A running `assistant screen`. Words are found where they are drawn in one piece."""

    def __init__(self, process: "subprocess.Popen[bytes]", terminal: int, home: Path) -> None:
        self.started = time.monotonic()
        self.drawn_bytes = 0
        self.home = Home(home)
        self._process = process
        self._terminal = terminal
        self._painted: list[tuple[float, str]] = []
        self._more = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, words: str, since: float = 0.0, patience_s: float = PATIENCE_S) -> float:
        """When these words were drawn, of what was drawn after `since`; both `time.monotonic`.

        Raises:
            Ended: they were not, or the screen ended before.
        """
        deadline = time.monotonic() + patience_s
        with self._more:
            while True:
                text = ""
                for moment, piece in self._painted:
                    text = (text + piece)[-len(words) - len(piece) :] if moment > since else ""
                    if words in text:
                        return moment
                left = deadline - time.monotonic()
                if left <= 0 or self._process.poll() is not None:
                    raise Ended(f"the screen did not show {words!r}")
                self._more.wait(min(left, 1.0))

    def first_frame(self) -> float:
        """When all of it was painted. Raises as `wait_for`."""
        return max(map(self.wait_for, FIRST_FRAME))

    def press(self, keys: str) -> None:
        """As a terminal sends them."""
        os.write(self._terminal, keys.encode())

    def turns(self) -> list[dict[str, Any]]:
        """Those that are over."""
        return turns_in(self.home)

    def wait_turns(self, count: int, patience_s: float = PATIENCE_S) -> None:
        """Until so many turns are over. Raises Ended: they are not."""
        deadline = time.monotonic() + patience_s
        while len(self.turns()) < count:
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise Ended(f"there were {len(self.turns())} of {count} turns")
            time.sleep(0.05)

    def cpu_seconds(self) -> Parts:
        def of(process: psutil.Process) -> float:
            times = process.cpu_times()
            return float(times.user + times.system)

        return self._parts(of)

    def memory_mb(self) -> Parts:
        """Resident, pages of the model's file included."""
        return self._parts(lambda process: float(process.memory_info().rss) / 1e6)

    def finish(self) -> None:
        """Leave it as its user does. Raises Ended: it did not end, or failed."""
        self.press(QUIT)
        try:
            code = self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired as error:
            raise Ended(f"it did not end within {PATIENCE_S:.0f} s") from error
        if code:
            raise Ended(f"exit code {code}")

    def close(self) -> None:
        """When the program has ended."""
        self._reader.join(END_S)
        os.close(self._terminal)

    # -- inside ---------------------------------------------------------------------------------

    def _parts(self, figure: Figure) -> Parts:
        screen = psutil.Process(self._process.pid)
        [assistant] = screen.children()
        below = sum(figure(worker) for worker in assistant.children(recursive=True))
        return Parts(figure(screen), figure(assistant), below)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._terminal, 1 << 16)
            except OSError:  # the other side was closed
                data = b""
            with self._more:
                if data:
                    self.drawn_bytes += len(data)
                    self._painted.append((time.monotonic(), data.decode("utf-8", "replace")))
                self._more.notify_all()
            if not data:
                return


@contextmanager
def on_terminal(
    home: Path, arguments: Sequence[str], start: Sequence[str] = ("-m", "ui.commands.main")
) -> Iterator[OnTerminal]:
    """Open the screen; it is ended, with all its processes, when the block is left.

    Args:
        start: what Python runs.
    """
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    terminal, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
    process = subprocess.Popen(
        [sys.executable, *start, "screen", "--home", str(home), *arguments],
        cwd=ROOT,
        # No entries in anybody's keyring, unless the environment wants them.
        env={"ASSISTANT_ENCRYPTION__MODE": "off", "TERM": "xterm-256color"}
        | os.environ
        | {"PYTHONPATH": os.pathsep.join(paths)},
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
    )
    opened = OnTerminal(process, terminal, home)
    try:
        yield opened
    finally:
        below = (
            psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        )
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        psutil.wait_procs(below, END_S)  # they end when the screen has
        os.close(inside)
        opened.close()
