"""Compares the assistant during endless idle work with the assistant without idle work.

The same command runs on two copies of one home. In one, the language model judges facts whenever
nobody is talking. In the other, nothing is done between utterances.
"""

import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from assistant.paths import Home
from scripts.bench.idle_pending import fill, flags_of, worked_on
from scripts.bench.voice import two_arms
from scripts.bench.voice.labels import Clip
from scripts.bench.voice.two_arms import Pair, headless
from scripts.common.program import NotMeasured
from scripts.common.rows import Keep

ARMS = ("without", "idle")
EXCHANGES = 300
"""Number of exchanges without facts, too many for one session to process."""
PAUSE_S = 4.0
"""Silence before each clip, during which idle work begins again."""


class NothingPending(NotMeasured):
    """A session had no idle work, or finished all of it."""


def paired(
    clips: Sequence[Clip], profile: str, folder: Path, keep: Keep
) -> tuple[list[Pair], list[int]]:
    """The pairs, and for each session the number of exchanges that idle work processed.

    Raises:
        Ended: a session did not start, or did not end as it should.
        NothingPending: a session had no idle work, or finished all of it.
    """
    template = Home(folder / "template").create()
    fill(template, profile, EXCHANGES)
    made: list[int] = []
    runs = {arm: partial(_run, template, arm == ARMS[1], made) for arm in ARMS}
    return two_arms.paired(clips, runs, profile, folder, keep, PAUSE_S), made


def figures(pairs: Sequence[Pair], made: Sequence[int], seed: int) -> dict[str, Any]:
    """All figures; a ratio above 1 says that an answer takes longer with idle work."""
    return two_arms.figures(pairs, ARMS, seed) | {"made_in_sessions": list(made)}


def table(found: dict[str, Any]) -> str:
    """The figures as text for a person."""
    made = found["made_in_sessions"]
    told = f"exchanges worked on in {len(made)} sessions: {sum(made)} of {EXCHANGES * len(made)}"
    return f"{two_arms.table(found, ARMS)}\n{told}"


def _run(
    template: Home, pending: bool, made: list[int], home: Path, flags: Sequence[str], turns: int
) -> None:
    shutil.copytree(template.root, home)
    headless(home, [*flags, *flags_of(pending)], turns)
    if pending:
        made.append(count := worked_on(Home(home)))
        print(f"worked on {count} of {EXCHANGES} exchanges", file=sys.stderr, flush=True)
        if not 0 < count < EXCHANGES:
            raise NothingPending(f"{count} of {EXCHANGES} exchanges were worked on.")
