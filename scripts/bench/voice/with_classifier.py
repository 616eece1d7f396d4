"""Compares ordinary turns with and without the classifier, alternately on the same models.

The classifier judges what each turn asks for, and whether the clauses of its answer claim an act.
"""

from collections.abc import Sequence
from typing import Any

from scripts.bench.voice.labels import Clip
from scripts.bench.voice.listening import Outcome
from scripts.bench.voice.ours import Ours
from scripts.bench.voice.report import Pair, figures, first_audio
from scripts.common.statistics import percentile, ratio, rounded, rounded_interval

ALLOWED = 1.02
"""The upper end of the interval of the ratio of one pair should not exceed this."""


class Unclassified:
    """`ours` without the classifier: the grammar alone recognises requests, and answers are not
    checked."""

    name = "without"

    def __init__(self, ours: Ours) -> None:
        self._ours = ours

    async def load(self) -> None:
        """Nothing but what `ours` has loaded."""

    async def hear(self, clip: Clip) -> Outcome:
        classifier, self._ours.classifier = self._ours.classifier, None
        try:
            return await self._ours.hear(clip)
        finally:
            self._ours.classifier = classifier

    async def close(self) -> None:
        """Nothing but what `ours` closes."""


def compared(pairs: Sequence[Pair], seed: int) -> dict[str, Any]:
    """Figures from pairs (without, with the classifier); a ratio above 1 says that an answer takes
    longer with it."""
    found = figures(pairs, seed)
    told = {key: each for key, each in found.items() if key.startswith(("ratio", "clips", "comp"))}
    bounds = rounded_interval(pairs, ratio_of_a_pair, seed=seed, digits=3)
    return {
        "without": found["ours"],
        "with": found["stock"],
        **told,
        "ratio_of_a_pair": rounded(ratio_of_a_pair(pairs), 3),
        "ratio_of_a_pair_interval": bounds,
        "allowed": ALLOWED,
    }


def ratio_of_a_pair(pairs: Sequence[Pair]) -> float | None:
    """The median of how many times longer a clip takes with the classifier. What makes a clip slow
    in both cancels out."""
    times = [(pair.ours.latency_ms, pair.stock.latency_ms) for pair in pairs if pair.comparable]
    ratios = [ratio(beside, without) for without, beside in times]
    return percentile([each for each in ratios if each is not None], 50)


def table(found: dict[str, Any]) -> str:
    """The figures as text for a person."""
    of_a_pair = found["ratio_of_a_pair"], found["ratio_of_a_pair_interval"]
    told = "of one pair, at p50: {} (95 %: {})".format(*of_a_pair)
    return f"{first_audio(found, ('without', 'with'))}\n{told}\n{found['compared']} pairs compared"
