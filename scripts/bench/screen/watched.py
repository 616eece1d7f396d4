"""Runs `assistant` with a heartbeat that records how long the screen's event loop was blocked.

    python -m scripts.bench.screen.watched NOTES screen …

When the screen is closed, a JSON object is written to NOTES. Its `gaps` are the loop's pauses of at
least 20 ms, as [start, ms], with the start as `time.monotonic` gives it. Its `typed` are the lines
that were typed and sent.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from textual.widgets import Input

from ui.commands import main
from ui.screen import app

BEAT_S = 0.005
LEAST_MS = 20.0


class Watched(app.AssistantScreen):
    """A screen that records when its event loop was blocked."""

    gaps: list[tuple[float, float]]
    typed: list[str]

    def on_load(self) -> None:
        self.gaps, self.typed = [], []
        self._beating = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(BEAT_S)
            now = time.monotonic()
            late = (now - last - BEAT_S) * 1000
            if late >= LEAST_MS:
                self.gaps.append((last, round(late, 1)))
            last = now

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.typed.append(event.value)

    async def action_quit(self) -> None:
        self.note()
        await super().action_quit()

    def note(self) -> None:
        notes = {"gaps": self.gaps, "typed": self.typed}
        Path(sys.argv[1]).write_text(json.dumps(notes), encoding="utf-8")


if __name__ == "__main__":
    vars(app)["AssistantScreen"] = Watched
    sys.exit(main.main(sys.argv[2:]))
