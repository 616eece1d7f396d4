"""Percentiles of measured times, and how far to trust them."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

RESAMPLES = 2000
COVERAGE = 0.95

Item = TypeVar("Item")


def percentile(values: Sequence[float], q: float) -> float | None:
    """With linear interpolation; None of nothing."""
    return float(np.percentile(values, q)) if values else None


def interval(
    items: Sequence[Item],
    statistic: Callable[[Sequence[Item]], float | None],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[float, float] | None:
    """Bootstrap percentile interval of 95 % for `statistic` of `items`.

    Items are drawn whole: measurements of two systems on one recording belong in one item, so that
    what makes the recording slow for both does not widen the interval of their ratio. None where
    there are fewer than two items, or no resample has a value.
    """
    if len(items) < 2:
        return None
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(resamples):
        picked = [items[index] for index in draw.integers(0, len(items), len(items))]
        value = statistic(picked)
        if value is not None:
            found.append(value)
    if not found:
        return None
    low, high = np.percentile(found, [50 * (1 - COVERAGE), 50 * (1 + COVERAGE)])
    return float(low), float(high)


def ratio(above: float | None, below: float | None) -> float | None:
    """None where one is missing or there is nothing to divide by."""
    return above / below if above is not None and below else None
