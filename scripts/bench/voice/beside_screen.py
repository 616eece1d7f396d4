"""Compares the assistant with and without its screen by running the two alternately on the same
recordings.

Both run as a user starts them: `assistant talk --json`, and `assistant screen` on a
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
"""Maximum seconds per turn, on average over a session, including the assistant's startup."""


def paired(clips: Sequence[Clip], profile: str, folder: Path, keep: Keep) -> list[Pair]:
    """The pairs of times. Raises Ended: a session did not start, or did not end as it should."""
    runs = dict(zip(ARMS, (headless, _on_screen), strict=True))
    return two_arms.paired(clips, runs, profile, folder, keep)


def figures(pairs: Sequence[Pair], seed: int) -> dict[str, Any]:
    """All figures; a ratio above 1 says that an answer takes longer with the screen open."""
    return two_arms.figures(pairs, ARMS, seed)


def table(found: dict[str, Any]) -> str:
    """The figures as text for a person."""
    return two_arms.table(found, ARMS)


def _on_screen(home: Path, flags: Sequence[str], turns: int) -> None:
    from scripts.bench.screen.on_terminal import on_terminal  # needs pseudo-terminals

    with on_terminal(home, flags) as screen:
        with suppress(Ended):  # its clips are then left out of the comparison
            screen.wait_turns(turns, TURN_S * turns)
        screen.finish()
