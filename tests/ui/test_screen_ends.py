"""A screen ends when it is told to, also in a terminal that nobody reads."""

import os
import pty
import select
import signal
import subprocess
import sys

from tests.support.patience import PATIENCE_S

FULL_AFTER_S = 2.0
"""For so long nothing more could be written."""
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


def test_a_terminal_that_nobody_reads_holds_up_no_signal() -> None:
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
