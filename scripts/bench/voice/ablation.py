"""Compares ordinary turns with and without a part of the assistant, alternately on the same
models."""

from collections.abc import Sequence
from typing import Any

from scripts.bench.voice.labels import Clip
from scripts.bench.voice.listening import Outcome
from scripts.bench.voice.ours import Ours, Parts
from scripts.bench.voice.report import Pair, figures, first_audio
from scripts.common.statistics import percentile, ratio, rounded, rounded_interval

ALLOWED = 1.02
"""The upper end of the interval around `ratio_of_a_pair` should not exceed this."""


class Variant:
    """`ours`, but with other parts."""

    def __init__(self, name: str, ours: Ours, parts: Parts) -> None:
        self.name = name
        self._ours = ours
        self._parts = parts

    async def load(self) -> None:
        """Nothing to load: `ours` is loaded."""

    async def hear(self, clip: Clip) -> Outcome:
        parts, self._ours.parts = self._ours.parts, self._parts
        try:
            return await self._ours.hear(clip)
        finally:
            self._ours.parts = parts

    async def close(self) -> None:
        """Nothing to close: `ours` is closed by its owner."""


def compared(pairs: Sequence[Pair], seed: int) -> dict[str, Any]:
    """Figures from pairs (without, with the part). A ratio above 1 says that an answer takes longer
    with the part. `taken` is the number of clips to which a skill replies with the part but not
    without it; these clips are not compared."""
    found = figures(pairs, seed)
    told = {key: each for key, each in found.items() if key.startswith(("ratio", "clips", "comp"))}
    bounds = rounded_interval(pairs, ratio_of_a_pair, seed=seed, digits=3)
    return {
        "without": found["ours"],
        "with": found["stock"],
        **told,
        "taken": sum(bool(pair.stock.reply) and not pair.ours.reply for pair in pairs),
        "ratio_of_a_pair": rounded(ratio_of_a_pair(pairs), 3),
        "ratio_of_a_pair_interval": bounds,
        "allowed": ALLOWED,
    }


def ratio_of_a_pair(pairs: Sequence[Pair]) -> float | None:
    """The median ratio of a clip's time with the part to its time without. Whatever makes a clip
    slow in both cases cancels out."""
    times = [(pair.ours.latency_ms, pair.stock.latency_ms) for pair in pairs if pair.comparable]
    ratios = [ratio(beside, without) for without, beside in times]
    return percentile([each for each in ratios if each is not None], 50)


def table(found: dict[str, Any]) -> str:
    """The figures as text for a person."""
    of_a_pair = found["ratio_of_a_pair"], found["ratio_of_a_pair_interval"]
    told = "of one pair, at p50: {} (95 %: {})".format(*of_a_pair)
    counts = f"{found['compared']} pairs compared; {found['taken']} taken by a skill"
    return f"{first_audio(found, ('without', 'with'))}\n{told}\n{counts}"
