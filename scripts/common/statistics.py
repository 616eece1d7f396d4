"""Computes percentiles of measured times, and their confidence intervals."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

RESAMPLES = 2000
BOUNDS = (2.5, 97.5)
"""The percentiles that bound a 95 % interval."""

Item = TypeVar("Item")


def percentile(values: Sequence[float], q: float) -> float | None:
    """The percentile, linearly interpolated; None if there are no values."""
    return float(np.percentile(values, q)) if values else None


def summary(
    values: Sequence[float], quantiles: Sequence[int] = (50, 95, 99), digits: int = 2
) -> dict[str, float]:
    """Percentiles and the maximum by name; empty if there are no values."""
    if not values:
        return {}
    found = {f"p{q}": float(np.percentile(values, q)) for q in quantiles} | {"max": max(values)}
    return {name: round(value, digits) for name, value in found.items()}


def auc(lower: ArrayLike, higher: ArrayLike) -> float:
    """The share of pairs in which the number from `higher` is higher (the area under the ROC
    curve); 0 if there are no pairs."""
    low, high = np.asarray(lower), np.asarray(higher)
    return float((low[:, None] < high).mean()) if len(low) and len(high) else 0.0


def interval(
    items: Sequence[Item],
    statistic: Callable[[Sequence[Item]], float | None],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[float, float] | None:
    """The 95 % bootstrap percentile interval of `statistic(items)`.

    Items are drawn whole. If two systems were measured on the same recordings, let each item hold
    both measurements of one recording; otherwise, a recording that is slow for both would widen the
    interval of their ratio. Returns None if there are fewer than two items, or if `statistic` has
    no value for any resample.
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
    low, high = np.percentile(found, BOUNDS)
    return float(low), float(high)


def rounded_interval(
    items: Sequence[Item],
    statistic: Callable[[Sequence[Item]], float | None],
    *,
    seed: int = 0,
    digits: int = 1,
) -> list[float] | None:
    """Like `interval`, but rounded for output."""
    bounds = interval(items, statistic, seed=seed)
    return None if bounds is None else [round(bound, digits) for bound in bounds]


def rounded(value: float | None, digits: int = 1) -> float | None:
    return None if value is None else round(value, digits)


def ratio(above: float | None, below: float | None) -> float | None:
    """`above / below`; None if either is missing or `below` is 0."""
    return above / below if above is not None and below else None
