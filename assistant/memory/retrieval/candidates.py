"""Selects the memories to rank: the best by words, those near in meaning, and adjacent turns."""

import numpy as np
from numpy.typing import NDArray

from assistant.memory.records.arrays import NONE, Places


def best_by_words(own: NDArray[np.floating], count: int) -> Places:
    """The rows of the `count` best by words, unsorted; fewer if fewer match."""
    matching: Places = np.flatnonzero(own > 0)
    if len(matching) > count:
        evidence = own[matching]
        least = np.partition(evidence, -count)[-count]  # positions would take far longer
        better, level = matching[evidence > least], matching[evidence == least]
        # Among equals at the limit, the newest.
        matching = np.concatenate([better, level[len(better) - count :]])
    return matching


def to_be_ranked(
    own: NDArray[np.floating], near: Places, before: Places, after: Places, count: int
) -> Places:
    """Rows to rank, ascending: the `count` best by words, those `near` in meaning, and the turns
    adjacent to each.

    Args:
        own: evidence by words for all rows.
        before, after: for all rows, the rows said just before and after, or `NONE`.
    """
    chosen = np.concatenate([best_by_words(own, count), near])
    around = np.sort(np.concatenate([chosen, before[chosen], after[chosen]]))
    # Like np.unique, which takes ten times as long for so few.
    new = around != NONE
    new[1:] &= around[1:] != around[:-1]
    rows: Places = around[new]
    return rows
