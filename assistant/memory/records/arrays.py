"""Array types shared by the store and the indexes."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""Shape (dimensions,), unit length."""
Vectors = NDArray[np.float32]
"""Shape (n, dimensions), each of unit length."""
Cosines = NDArray[np.float32]
"""Shape (n,)."""
Values = NDArray[np.float64]
"""One value per row, candidate or memory; shape (n,)."""
Rows = NDArray[np.int64]
"""Row numbers in a user's index."""
Places = NDArray[np.int64]
"""Positions among the candidates, or `NONE`; shape (candidates,) unless stated otherwise."""
VectorsAt = Callable[[Places], Vectors]
"""Returns the vectors of the few candidates that are examined closely."""

NONE = -1


def places(rows: Rows, wanted: Rows) -> Places:
    """Positions of `wanted`, of any shape, in the ascending `rows`; `NONE` for those missing."""
    if not len(rows):
        return np.full_like(wanted, NONE)
    found = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    here: Places = np.where(rows[found] == wanted, found, NONE)
    return here
