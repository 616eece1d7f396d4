"""Computes recall at k and related metrics, with bootstrap intervals over the questions."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from scripts.common.statistics import BOUNDS, RESAMPLES

METRICS = ("R@5", "R@10", "R@20", "MRR@10", "hit@10", "first")

Values = NDArray[np.float64]
"""Shape (questions, metrics), in the order of `METRICS`."""


def of_question(found: Sequence[int], gold: Sequence[int]) -> list[float]:
    """The metrics of one question. R@k is the share of the gold rows among the first k found.
    MRR@10 is one divided by the rank of the first gold row; hit@10 is 1. Both are 0 if no gold row
    is among the first ten.

    Args:
        found: the rows found, best first, without duplicates.
        gold: the rows of the answers, at least one.
    """
    wanted = set(gold)
    places = [place for place, row in enumerate(found, 1) if row in wanted]
    shares = [sum(place <= k for place in places) / len(wanted) for k in (5, 10, 20)]
    first = places[0] if places and places[0] <= 10 else None
    return [*shares, 1 / first if first else 0.0, float(first is not None), float(first == 1)]


def means(values: Values) -> dict[str, float]:
    """The mean of each metric; 0 for a category without questions."""
    averages = values.mean(axis=0) if len(values) else np.zeros(len(METRICS))
    return {name: round(float(v), 4) for name, v in zip(METRICS, averages, strict=True)}


def intervals(values: Values, seed: int = 0) -> dict[str, list[float]]:
    """95 % bootstrap percentile intervals of the means, over the questions."""
    draw = np.random.default_rng(seed).integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.percentile(values[draw].mean(axis=1), BOUNDS, axis=0)
    return {
        name: [round(float(a), 4), round(float(b), 4)]
        for name, a, b in zip(METRICS, low, high, strict=True)
    }


def reciprocal_ranks(orders: Sequence[NDArray[np.int64]], count: int, k: int = 60) -> Values:
    """Reciprocal rank fusion of complete orders of `count` rows: the sum of 1 / (k + rank)."""
    fused = np.zeros(count)
    for order in orders:
        fused[order] += 1 / (k + np.arange(1, len(order) + 1))
    return fused


def table(methods: Mapping[str, Values]) -> str:
    """The means of each method, as lines for a person."""
    lines = [f"{'':14}" + "".join(f"{name:>9}" for name in METRICS)]
    for method, values in methods.items():
        row = means(values)
        lines.append(f"{method:14}" + "".join(f"{row[name]:9.3f}" for name in METRICS))
    return "\n".join(lines)
