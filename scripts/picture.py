"""Draws the README's picture as an SVG: the screen replaying the included recorded conversation.

`scripts/record_demo.py` makes the recording.
"""

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.memory.transcript.conversation_recordings import Recordings
from assistant.paths import Home
from assistant.settings import load as load_settings
from data import located
from scripts.common import program
from scripts.common.assistant_process import ROOT
from scripts.common.program import add_number
from ui.screen.replay_screen import ReplayScreen
from ui.session.replay import Replay, load

PICTURE = ROOT / "docs" / "screen.svg"
SIZE = (120, 40)
THEME = "ansi-dark"
TURNS = 3
DRAWN_S = 0.3


async def picture(folder: Path, turns: int) -> str:
    """The screen as an SVG, after this many turns."""
    replay = Replay(load(Recordings(folder), located("recordings/demo.jsonl")), paused=True)
    loaded = load_settings(folder / "settings.toml", {}, {"screen.theme": THEME})
    app = ReplayScreen(replay, Home(folder), loaded, now=lambda: replay.now.astimezone(UTC))
    async with app.run_test(size=SIZE) as pilot:
        while not replay.started:
            await pilot.pause(DRAWN_S)
        await pilot.press(*["n"] * turns)
        while not app.up_to_date:
            await pilot.pause(DRAWN_S)
        await pilot.pause(DRAWN_S)
        return app.export_screenshot(title="assistant")


def work(options: program.Options) -> program.Figures:
    with tempfile.TemporaryDirectory() as folder:
        svg = asyncio.run(picture(Path(folder), options.turns))
    PICTURE.write_text(svg, encoding="utf-8")
    print(PICTURE)
    return {"file": str(PICTURE)}


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    add_number(parser, "--turns", TURNS, "turns of the conversation to show")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
