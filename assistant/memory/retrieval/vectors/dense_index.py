"""The vectors of one user's memories. A memory normally has a vector from the fast encoder, and may
also have one from a stronger encoder. Stronger vectors are added over time.

Once half of the memories have a stronger vector, questions use the stronger encoder. Memories with
only a fast vector are then found by that vector, and its cosine is rescaled. If a memory has both
vectors, both count, since each encoder finds memories that the other misses (figures in
docs/benchmarks.md).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assistant.memory.records.arrays import Cosines, Rows, Vector
from assistant.memory.retrieval.vectors.vector_index import VectorIndex

STRONGER = 0.85
"""Weight of the stronger encoder's cosine. The fast encoder's cosine has the remaining weight."""
SCORED_ONE_BY_ONE = 3_072
"""Rows without a stronger vector are compared with the question one by one if there are at most
this many. If there are more, only those among the fast encoder's nearest rows are found."""
FEWEST_TO_SCALE = 20
"""Minimum number of rows with both vectors for comparing the scales of the two encoders."""


class QueryVectors(NamedTuple):
    """A question's vectors from the two encoders; None for a vector that is not ready."""

    quick: Vector | None = None
    stronger: Vector | None = None


class DenseIndex:
    """The vectors of the rows 0..n-1, as in `VectorIndex`. Not thread-safe; `UserIndex` holds its
    lock during calls.

    Args:
        dimensions: of the fast encoder's vectors.
    """

    def __init__(self, dimensions: int) -> None:
        self.quick = VectorIndex(dimensions)
        self.stronger: VectorIndex | None = None
        """The stronger encoder's vectors; None if there is no stronger encoder."""

    @property
    def encoders(self) -> tuple[VectorIndex, ...]:
        """The fast encoder's vectors, followed by the stronger encoder's if there is one."""
        return (self.quick,) if self.stronger is None else (self.quick, self.stronger)

    @property
    def serves(self) -> bool:
        """Whether questions use the stronger encoder."""
        if self.stronger is None:
            return False
        having = int(self.stronger.present.sum())
        return having > 0 and having >= self.missing

    @property
    def missing(self) -> int:
        """Number of rows that have a fast vector but no stronger one; 0 if there is no stronger
        encoder."""
        return int(self._lacks().sum())

    def lacking(self, limit: int) -> list[int]:
        """Return up to `limit` of the rows that `missing` counts, newest first."""
        newest: list[int] = np.flatnonzero(self._lacks())[::-1][:limit].tolist()
        return newest

    def _lacks(self) -> NDArray[np.bool_]:
        """Return for each row whether it has a fast vector but no stronger one. All false if there
        is no stronger encoder."""
        quick = self.quick.present
        strong = self.stronger.present if self.stronger is not None else quick
        count = min(len(quick), len(strong))  # another thread may be adding rows
        return quick[:count] & ~strong[:count]

    def attach(self, dimensions: int) -> None:
        """Add a stronger encoder. At first, no row has a vector from this encoder."""
        stronger = VectorIndex(dimensions)
        stronger.add_without(len(self.quick))
        self.stronger = stronger

    # -- rows -----------------------------------------------------------------------------------

    def add(self, vectors: ArrayLike) -> None:
        """Append rows with their fast vectors; NaN for a row without a vector."""
        first = len(self.quick)
        self.quick.add(vectors)
        if self.stronger is not None:
            self.stronger.add_without(len(self.quick) - first)

    def add_without(self, count: int) -> None:
        self.quick.add_without(count)
        if self.stronger is not None:
            self.stronger.add_without(count)

    def replace(self, rows: list[int], vectors: ArrayLike, *, stronger: bool = False) -> None:
        """Set the fast vectors of rows, or the stronger ones if `stronger`. Stronger vectors are
        ignored if there is no stronger encoder."""
        index = self.stronger if stronger else self.quick
        if index is not None:
            index.replace(rows, vectors)

    def remove(self, rows: list[int]) -> None:
        for vectors in self.encoders:
            vectors.remove(rows)

    # -- searching ------------------------------------------------------------------------------

    def usable(self, meaning: QueryVectors) -> QueryVectors:
        """Return the question's vectors that may be used now. The stronger one is left out until
        half of the memories have stronger vectors."""
        return meaning if self.serves else QueryVectors(meaning.quick)

    def near(self, meaning: QueryVectors, count: int) -> Rows:
        """Return the `count` nearest rows, unsorted. If the question has both vectors, also return
        up to `count` near rows that lack a stronger vector.

        Args:
            meaning: as returned by `usable`.
        """
        quick, stronger = meaning
        parts: list[Rows] = [np.empty(0, np.int64)]
        if stronger is not None and self.stronger is not None:
            parts.append(self.stronger.search(stronger, count)[0])
            if quick is not None:
                parts.append(self._near_lacking(quick, count))
        elif quick is not None:
            parts.append(self.quick.search(quick, count)[0])
        return np.concatenate(parts).astype(np.int64)

    def _near_lacking(self, quick: Vector, count: int) -> Rows:
        lacks = self._lacks()
        rows = np.flatnonzero(lacks)
        if len(rows) > SCORED_ONE_BY_ONE:
            found = self.quick.search(quick, count)[0]
            return np.asarray(found[lacks[found]])
        if len(rows) > count:
            cosines = self.quick.cosines(quick, rows)
            rows = rows[np.argpartition(-cosines, count)[:count]]
        return rows

    def cosines(self, meaning: QueryVectors, rows: Rows) -> Cosines:
        """Return the cosines of these rows, in their order. NaN for rows without a vector; all 0 if
        the question has no vector.

        Args:
            meaning: as returned by `usable`.
        """
        quick, stronger = meaning
        if stronger is not None and self.stronger is not None:
            strong = self.stronger.cosines(stronger, rows)
            if quick is None:
                return strong
            return blended(self.quick.cosines(quick, rows), strong)
        if quick is not None:
            return self.quick.cosines(quick, rows)
        return np.zeros(len(rows), np.float32)


def blended(quick: Cosines, stronger: Cosines) -> Cosines:
    """Combine the cosines from the two encoders. Where the stronger encoder's cosine is NaN, the
    fast encoder's cosine replaces it, rescaled by comparing the rows that have both."""
    lacking = np.isnan(stronger)
    scaled = np.where(lacking, _on_scale(quick, stronger), stronger)
    own = np.where(np.isnan(quick), scaled, quick)
    return np.asarray(STRONGER * scaled + (1 - STRONGER) * own, np.float32)


def _on_scale(quick: Cosines, stronger: Cosines) -> Cosines:
    both = ~(np.isnan(quick) | np.isnan(stronger))
    if np.count_nonzero(both) < FEWEST_TO_SCALE:
        return quick
    one, other = quick[both], stronger[both]
    spread = max(float(one.std()), 1e-3)
    return np.asarray((quick - one.mean()) / spread * other.std() + other.mean(), np.float32)
