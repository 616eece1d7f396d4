"""Which memories are ranked: the best by words, those near in meaning, and the turns around."""

import numpy as np
from numpy.typing import NDArray

from assistant.memory.records.arrays import NONE, Places


def best_by_words(own: NDArray[np.floating], count: int) -> Places:
    """The rows of the `count` best by words, in no order; fewer where fewer have any."""
    matching: Places = np.flatnonzero(own > 0)
    if len(matching) > count:
        evidence = own[matching]
        least = np.partition(evidence, -count)[-count]  # places would take far longer than values
        better, level = matching[evidence > least], matching[evidence == least]
        # Of those that are level at the limit the newest.
        matching = np.concatenate([better, level[len(better) - count :]])
    return matching


def to_be_ranked(
    own: NDArray[np.floating], near: Places, before: Places, after: Places, count: int
) -> Places:
    """Rows to be ranked: the `count` best by words, those `near` in meaning, and the turns around
    each of them. Ascending.

    Args:
        own: evidence by words of all rows.
        before, after: of all rows, the rows said just before and after, or `NONE`.
    """
    chosen = np.concatenate([best_by_words(own, count), near])
    around = np.sort(np.concatenate([chosen, before[chosen], after[chosen]]))
    # As np.unique, which takes ten times as long for so few.
    new = around != NONE
    new[1:] &= around[1:] != around[:-1]
    rows: Places = around[new]
    return rows
