"""The temperature of a classifier of intents, and its calibration.

All arrays have the shape (utterances, classes); class 0 stands for "no command".
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

TEMPERATURES = np.geomspace(0.4, 3.0, 61)
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.98, 1.0)


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
    """For each range of probabilities in `BINS`, the utterances whose likeliest command has a
    probability in this range: their number, the mean probability, and the share that are this
    command. The share equals the mean if the classifier is calibrated."""
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
