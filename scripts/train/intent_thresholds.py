"""Chooses the temperature and the thresholds of a classifier of intents, and shows its calibration.

All arrays of probabilities have the shape (utterances, classes); class 0 is no command.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

TEMPERATURES = np.geomspace(0.4, 3.0, 61)
STEPS = np.round(np.arange(0.3, 1.0, 0.01), 2)
"""Thresholds to choose from."""
NEVER = 1.01
"""A threshold that no probability reaches."""
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.98, 1.0)
PRECISION = 0.995
"""Least share of rightly recognised commands among those that are carried out without asking."""
ASKED_WRONGLY = 1 / 1000
"""Highest share of ordinary talk that leads to a question or a command. One in 500 would be
acceptable. The limit is half of that, because users talk differently from the texts used here."""
SLACK = 0.01
"""How far each threshold is set above the lowest right one, to allow for utterances unlike
these."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """Probabilities of a kind from which it is carried out, or asked about."""

    sure: float
    asked: float


def softmax(outputs: Array, temperature: float) -> Array:
    scaled = np.exp((outputs - outputs.max(axis=1, keepdims=True)) / temperature)
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def best_temperature(outputs: Array, labels: Numbers) -> float:
    """The temperature with which the labels are likeliest."""
    rows = np.arange(len(labels))
    losses = [
        -np.log(np.maximum(softmax(outputs, each)[rows, labels], 1e-12)).mean()
        for each in TEMPERATURES
    ]
    return round(float(TEMPERATURES[int(np.argmin(losses))]), 3)


def calibration(probabilities: Array, labels: Numbers) -> list[dict[str, Any]]:
    """For utterances whose likeliest command has a probability within two limits: their number, the
    mean probability, and the share that is this command. They are equal if it is calibrated."""
    commands = probabilities[:, 1:]
    kinds, best = 1 + commands.argmax(axis=1), commands.max(axis=1)
    rows = []
    for low, high in pairwise(BINS):
        here = (best >= low) & ((best < high) | (high == BINS[-1]))
        if here.any():
            right = float((kinds == labels)[here].mean())
            row = {"from": low, "to": high, "utterances": int(here.sum())}
            row |= {"mean": round(float(best[here].mean()), 3), "right": round(right, 3)}
            rows.append(row)
    return rows


def thresholds(
    probabilities: Array, labels: Numbers, talk: Array, names: Sequence[str]
) -> dict[str, Threshold]:
    """The thresholds of each kind of command.

    Carried out is what would have been right in `PRECISION` of the cases on both sets. Asked is so
    often that few commands are missed, but of the talk no more than `ASKED_WRONGLY` is taken for
    any command.

    Args:
        talk: probabilities of ordinary talk.
        names: the classes.
    """
    kinds, best = _likeliest(probabilities)
    talk_kinds, talk_best = _likeliest(talk)
    missed, wrong = {}, {}
    for kind in range(1, len(names)):
        own = best[(kinds == kind) & (labels == kind)]
        count = max(1, int((labels == kind).sum()))
        missed[kind] = np.array([1 - (own >= step).sum() / count for step in STEPS])
        false = talk_best[talk_kinds == kind]
        wrong[kind] = np.array([(false >= step).sum() for step in STEPS])
    asked = _cheapest(missed, wrong, ASKED_WRONGLY * len(talk))
    found = {}
    for kind in range(1, len(names)):
        scores = np.concatenate([best[kinds == kind], talk_best[talk_kinds == kind]])
        right = np.concatenate(
            [labels[kinds == kind] == kind, np.zeros((talk_kinds == kind).sum(), bool)]
        )
        sure = _surely(scores, right)
        found[names[kind]] = Threshold(max(sure, asked[kind]), asked[kind])
    return found


def _likeliest(probabilities: Array) -> tuple[Numbers, Array]:
    commands = probabilities[:, 1:]
    return 1 + commands.argmax(axis=1), commands.max(axis=1)


def _cheapest(
    missed: Mapping[int, Array], wrong: Mapping[int, Array], allowed: float
) -> dict[int, float]:
    """One threshold for each kind, so that the sum of missed shares is lowest for at most `allowed`
    wrong questions. A wrong question costs more and more until they are few enough."""
    for price in np.geomspace(1e-4, 10, 101):
        chosen = {kind: int(np.argmin(missed[kind] + price * wrong[kind])) for kind in missed}
        if sum(wrong[kind][at] for kind, at in chosen.items()) <= allowed:
            break
    return {kind: float(STEPS[at]) for kind, at in chosen.items()}


def _surely(scores: Array, right: NDArray[np.bool_]) -> float:
    """The lowest threshold, with some slack, above which nearly all are right."""
    for step in STEPS[STEPS >= 0.5]:
        above = right[scores >= step]
        if above.size and above.mean() >= PRECISION:
            return round(min(float(step) + SLACK, float(STEPS[-1])), 2)
    return NEVER
