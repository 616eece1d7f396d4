"""Array types that the store and the indexes share."""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""A vector of shape (dimensions,) and unit length."""
Vectors = NDArray[np.float32]
"""Vectors of unit length, as an array of shape (n, dimensions)."""
Cosines = NDArray[np.float32]
"""Cosine similarities, shape (n,)."""
Values = NDArray[np.float64]
"""One value per row, candidate or memory, shape (n,)."""
Rows = NDArray[np.int64]
"""Row numbers in a user's index."""
Places = NDArray[np.int64]
"""Positions among the candidates, or `NONE`. Shape (candidates,) unless stated otherwise."""

NONE = -1


def places(rows: Rows, wanted: Rows) -> Places:
    """Return the positions of `wanted` in the ascending `rows`; `NONE` where a row is missing.

    `wanted` may have any shape; the result has the same shape.
    """
    if not len(rows):
        return np.full_like(wanted, NONE)
    found = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    here: Places = np.where(rows[found] == wanted, found, NONE)
    return here
