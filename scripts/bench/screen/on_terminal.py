"""Opens the screen as its user does, on a pseudo-terminal, and reads everything that it draws."""

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
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from assistant.paths import Home
from scripts.common.assistant_process import (
    END_S,
    PATIENCE_S,
    ROOT,
    Cost,
    Ended,
    cost_of,
    cpu_seconds,
    environment,
    has_ended_well,
    memory_mb,
    turns_in,
)

SIZE = (120, 40)
"""Columns and lines."""
FIRST_FRAME = ("2 Memory", "Conversation", "Latency", "Help")
"""Words in the tabs, the panes and the last line; once all are painted, the frame is complete."""
LISTENING = "● listening"
QUIT = "\x11"


class OnTerminal:
    """A running `assistant screen`. Words are found only if they are drawn in one piece."""

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
        """Wait until these words have been drawn after `since`; return when they were drawn. Both
        times are those of `time.monotonic`.

        Raises:
            Ended: the words were not drawn in time, or the screen ended first.
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
                    raise Ended(f"The screen did not show {words!r}.")
                self._more.wait(min(left, 1.0))

    def first_frame(self) -> float:
        """When the whole first frame was painted. Raises what `wait_for` raises."""
        return max(map(self.wait_for, FIRST_FRAME))

    def press(self, keys: str) -> None:
        """Send keys as a terminal does."""
        os.write(self._terminal, keys.encode())

    def turns(self) -> list[dict[str, Any]]:
        """The turns that are over."""
        return turns_in(self.home)

    def wait_turns(self, count: int, patience_s: float = PATIENCE_S) -> None:
        """Wait until `count` turns are over. Raises Ended: fewer were over in time."""
        deadline = time.monotonic() + patience_s
        while len(self.turns()) < count:
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise Ended(f"There were {len(self.turns())} of {count} turns.")
            time.sleep(0.05)

    def cpu_seconds(self) -> Cost:
        return self._cost(cpu_seconds)

    def memory_mb(self) -> Cost:
        return self._cost(memory_mb)

    def finish(self) -> None:
        """Quit the screen as its user does. Raises Ended: it did not end, or it failed."""
        self.press(QUIT)
        has_ended_well(self._process)

    def close(self) -> None:
        """Close the terminal; call it once the program has ended."""
        self._reader.join(END_S)
        os.close(self._terminal)

    # -- inside ---------------------------------------------------------------------------------

    def _cost(self, figure: Callable[[psutil.Process], float]) -> Cost:
        screen = psutil.Process(self._process.pid)
        [assistant] = screen.children()
        return replace(cost_of(figure, assistant), screen=figure(screen))

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._terminal, 1 << 16)
            except OSError:  # the screen's side was closed
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
    """Open the screen, and end it with all its processes when the block is left.

    Args:
        start: arguments for Python that start the program.
    """
    terminal, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
    process = subprocess.Popen(
        [sys.executable, *start, "screen", "--home", str(home), *arguments],
        cwd=ROOT,
        env={"TERM": "xterm-256color"} | environment(),
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
        psutil.wait_procs(below, END_S)  # they end after the screen
        os.close(inside)
        opened.close()
