"""A screen ends on a signal even if nobody reads from its terminal."""

import os
import pty
import select
import signal
import subprocess
import sys

from tests.support.patience import PATIENCE_S

FULL_AFTER_S = 2.0
"""Seconds without a successful write after which the terminal's buffer counts as full."""
BUSY = """
from textual.widgets import Static
from ui.screen.safe_app import SafeApp, draw

class Busy(SafeApp):
    def compose(self):
        yield Static()
    def on_mount(self):
        self.set_interval(.01, self.more)
    def more(self):
        self.count = getattr(self, "count", 0) + 1
        self.query_one(Static).update(chr(65 + self.count % 26) * 1_500)

class Closed:
    async def close(self):
        pass

raise SystemExit(draw(Busy(), Closed()))
"""


def test_a_screen_obeys_a_signal_even_if_nobody_reads_its_terminal() -> None:
    reader, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    try:
        assert b"AAA" in _until_shown(reader)
        while select.select([], [terminal], [], FULL_AFTER_S)[1]:
            pass
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
        os.close(reader)


def _until_shown(reader: int) -> bytes:
    read = b""
    while b"AAA" not in read:
        read += os.read(reader, 4096)
    return read
