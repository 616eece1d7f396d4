"""The arrays that the store and the indexes hand one another."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""Shape (dimensions,), of length 1."""
Vectors = NDArray[np.float32]
"""Shape (n, dimensions), each of length 1."""
Cosines = NDArray[np.float32]
"""Shape (n,)."""
Values = NDArray[np.float64]
"""One for each row, candidate or memory; shape (n,)."""
Rows = NDArray[np.int64]
"""Numbers of rows in a user's index."""
Places = NDArray[np.int64]
"""Positions among the candidates, or `NONE`; shape (candidates,) where nothing else is said."""
VectorsAt = Callable[[Places], Vectors]
"""Those of the few candidates that are looked at closely."""

NONE = -1


def places(rows: Rows, wanted: Rows) -> Places:
    """Where `wanted` rows, in any shape, stand among the ascending `rows`; `NONE` for what isn't
    there."""
    if not len(rows):
        return np.full_like(wanted, NONE)
    found = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    here: Places = np.where(rows[found] == wanted, found, NONE)
    return here
