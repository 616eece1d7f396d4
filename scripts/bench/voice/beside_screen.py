"""The assistant with its screen open, beside itself headless: the same recordings, in turns.

Both are the command as its user starts it: `assistant talk --json`, and `assistant screen` on a
pseudo-terminal.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from scripts.bench.voice import two_arms
from scripts.bench.voice.labels import Clip
from scripts.bench.voice.two_arms import Pair, headless
from scripts.common.assistant_process import Ended
from scripts.common.rows import Keep

ARMS = ("headless", "screen")
TURN_S = 20.0
"""The longest that one takes, starting included."""


def paired(clips: Sequence[Clip], profile: str, folder: Path, keep: Keep) -> list[Pair]:
    """Raises Ended: one of them did not come up, or did not end as it should."""
    runs = dict(zip(ARMS, (headless, _on_screen), strict=True))
    return two_arms.paired(clips, runs, profile, folder, keep)


def figures(pairs: Sequence[Pair], seed: int) -> dict[str, Any]:
    """A ratio above 1 says that with the screen open it takes longer."""
    return two_arms.figures(pairs, ARMS, seed)


def table(found: dict[str, Any]) -> str:
    """For a person."""
    return two_arms.table(found, ARMS)


def _on_screen(home: Path, flags: Sequence[str], turns: int) -> None:
    from scripts.bench.screen.on_terminal import on_terminal  # where there are pseudo-terminals

    with on_terminal(home, flags) as screen:
        with suppress(Ended):  # then the clips of this session can't be compared
            screen.wait_turns(turns, TURN_S * turns)
        screen.finish()
