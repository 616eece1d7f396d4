"""The README's picture: the screen over the recorded conversation that ships, in an SVG.

    python scripts/picture.py [--turns 3]

`scripts/record_demo.py` makes the recording.
"""

import argparse
import asyncio
import sys
import tempfile
from datetime import UTC
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.memory.transcript.conversation_recordings import Recordings
from assistant.paths import Home
from assistant.settings import load as load_settings
from data import located
from ui.screen.replay_screen import ReplayScreen
from ui.session.replay import Replay, load

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "screen.svg"
SIZE = (120, 40)
THEME = "ansi-dark"
TURNS = 3
DRAWN_S = 0.3


async def picture(folder: Path, turns: int) -> str:
    """As it looks after so many turns."""
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=TURNS)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        svg = asyncio.run(picture(Path(folder), args.turns))
    PICTURE.write_text(svg, encoding="utf-8")
    print(PICTURE)


if __name__ == "__main__":
    main()
