"""Chooses the weights by which the end of a turn is estimated."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assistant.voice.turns.end_of_turn import (
    LEAST_SILENCE_S,
    LONGEST_SILENCE_S,
    RECHECK_S,
    UNREADY_S,
    WEIGHTS,
    EndOfTurn,
    Weights,
)
from assistant.voice.turns.endpointing import WINDOW_S
from assistant.voice.turns.pipecat_models import NoDetector
from data import located
from scripts.bench.turns.hearing import Wanted, heard
from scripts.bench.turns.pauses import Heard
from scripts.bench.voice.listening import CUT_OFF_S
from scripts.common.rows import InputUnusable

GRID = {
    "words": (0.7, 0.9, 1.2),
    "least_words": (-3.3,),
    "most_words": (0.0, 1.0),
    "sound": (0.3, 0.5),
    "pause_s": (0.3, 0.4, 0.5),
    "spread": (0.7, 1.0),
}
ENOUGH = tuple(step * 0.25 - 4 for step in range(28))
"""The values of `Weights.enough` that are tried, the lowest first."""
MOST_SPLIT, MOST_CUT_OFF = 0.02, 0.2
"""In recordings, at most these shares of finished turns may be split, and of unfinished phrases cut
off."""
MOST_SPOKEN_SPLIT, MOST_SPOKEN_CUT_OFF = 0.175, 0.47
"""The same for spoken turns. They have many more pauses than people make, and half of the pauses
can't be foreseen."""
SLOW = 0.3
"""Weight of the wait's 95th percentile in the cost; its median has the weight 1."""
SPOKEN, SPOKEN_SLOW = 0.1, 0.05
"""Weights of the median and of the 95th percentile of the wait after spoken turns."""

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to listen to, and whether to write the chosen weights."""

    profile: str
    clips: Path | None
    part: str | None
    limit: int | None
    seed: int
    write: bool


class Result(NamedTuple):
    """A rule's results on a set: the share of turns that are split, that of phrases that are cut
    off, and the median and the 95th percentile of the wait in seconds."""

    split: float
    cut_off: float
    middle: float
    slow: float


class Silences:
    """The pauses of a set, with what is known after each window of silence, for trying many weights
    quickly. Rows are pauses, columns are windows."""

    def __init__(self, some: Sequence[Heard]) -> None:
        pairs = [(number, pause) for number, each in enumerate(some) for pause in each.pauses]
        if not pairs:
            raise InputUnusable("There is no pause to learn from.")
        count = round(LONGEST_SILENCE_S / WINDOW_S) + 2
        self.times = np.arange(1, count + 1) * WINDOW_S
        self._clip = np.array([number for number, _ in pairs])
        self._last = np.array([pause.last for _, pause in pairs])
        self._finished = np.array([each.clip.finished for each in some])
        self._began = np.array(
            [pause.began_s - some[number].clip.speech_end_s for number, pause in pairs]
        )
        evidence = [[pause.evidence(t) for t in self.times] for _, pause in pairs]
        self._known = np.array(
            [
                [each.words is not None and bool(pause.words) for each in row]
                for row, (_, pause) in zip(evidence, pairs, strict=True)
            ]
        )
        self._ready = np.array([[each.ready for each in row] for row in evidence])
        self._ready |= self.times >= UNREADY_S
        self._there = np.array([self.times <= pause.lasts_s + 1e-6 for _, pause in pairs])
        self._words = np.array([pause.words_odds for _, pause in pairs])
        self._sound = np.array([[each.sound or 0.0 for each in row] for row in evidence])
        once = [[p.evidence(t, rechecked=False) for t in self.times] for _, p in pairs]
        self._sound_once = np.array([[each.sound or 0.0 for each in row] for row in once])
        self._recheck = int(np.argmin(np.abs(self.times - RECHECK_S)))

    def result(self, weights: Weights) -> Result:
        """What `EndOfTurn.is_over` does with these weights."""
        ends = EndOfTurn(NoDetector(), None, weights, 1.0)
        silence = np.array([ends.of_silence(float(t)) for t in self.times])
        words = np.clip(self._words, weights.least_words, weights.most_words)
        rest = weights.words * words[:, None] + silence
        odds = rest + weights.sound * self._sound_once
        sure = self._known[:, self._recheck] & (odds[:, self._recheck] >= weights.enough)
        odds = np.where(sure[:, None], odds, rest + weights.sound * self._sound)
        over = self._known & (self.times >= LEAST_SILENCE_S) & (odds >= weights.enough)
        over &= self._ready
        over |= self.times >= LONGEST_SILENCE_S
        over &= self._there
        wait = np.full(len(self._finished), np.inf)
        early = np.zeros(len(self._finished), bool)
        for row in np.flatnonzero(over.any(axis=1)):
            clip = self._clip[row]
            if np.isinf(wait[clip]):
                wait[clip] = self._began[row] + self.times[over[row].argmax()]
                early[clip] = not self._last[row]
        waits = wait[self._finished & ~early & np.isfinite(wait)]
        middle, slow = np.quantile(waits, (0.5, 0.95)) if len(waits) else (np.inf, np.inf)
        unfinished = wait[~self._finished]
        return Result(
            split=float(early[self._finished].mean()) if self._finished.any() else 0.0,
            cut_off=float((unfinished <= CUT_OFF_S).mean()) if len(unfinished) else 0.0,
            middle=float(middle),
            slow=float(slow),
        )


def chosen(recordings: Silences, spoken: Silences) -> Weights:
    """The weights with which turns end soonest, of those with few enough mistakes.

    Raises:
        InputUnusable: no weights are good enough.
    """
    found = sorted(_candidates(recordings, spoken), key=lambda each: each[0])
    if not found:
        raise InputUnusable("With all weights, too many turns are split or cut off.")
    return found[0][1]


def _candidates(recordings: Silences, spoken: Silences) -> Iterator[tuple[float, Weights]]:
    """Yield the costs and weights that are good enough; for each point of `GRID`, only those with
    the lowest `enough`."""
    for values in product(*GRID.values()):
        for enough in ENOUGH:
            weights = Weights(**dict(zip(GRID, values, strict=True)), enough=enough)
            real = recordings.result(weights)
            if real.split > MOST_SPLIT or real.cut_off > MOST_CUT_OFF:
                continue
            made = spoken.result(weights)
            if made.split > MOST_SPOKEN_SPLIT or made.cut_off > MOST_SPOKEN_CUT_OFF:
                continue
            cost = real.middle + SLOW * real.slow
            yield cost + SPOKEN * made.middle + SPOKEN_SLOW * made.slow, weights
            break


def trained(plan: Plan) -> dict[str, Any]:
    """Choose the weights for what is heard, and write them to `data/turn_end.json` if asked.

    Raises:
        AssistantError: a model is missing, or a recording can't be read.
        InputUnusable: there is nothing to listen to, or no weights are good enough.
    """
    wanted = Wanted(plan.profile, plan.clips, plan.part, plan.limit, plan.seed)
    sets = {name: Silences(some) for name, some in heard(wanted).items()}
    weights = chosen(sets["recordings"], sets["spoken"])
    if plan.write:
        located(WEIGHTS).write_text(weights.model_dump_json() + "\n", encoding="utf-8")
    results = {name: each.result(weights)._asdict() for name, each in sets.items()}
    return weights.model_dump() | results
