"""The vectors of one user's memories: the fast encoder's, and a stronger encoder's for those
memories that it has encoded so far.

Once half of the memories have a stronger vector, questions use the stronger encoder; memories with
only a fast vector are found by that one, with a rescaled cosine. If a memory has both, both count:
each finds memories that the other misses (figures in docs/benchmarks.md).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assistant.memory.records.arrays import Cosines, Rows, Vector, VectorsAt
from assistant.memory.retrieval.vectors.vector_index import VectorIndex

STRONGER = 0.85
"""Weight of the stronger encoder's cosine; the fast one's cosine has the rest."""
SCORED_ONE_BY_ONE = 3_072
"""If at most this many rows lack a stronger vector, all of them are compared; otherwise only the
nearest."""
FEWEST_TO_SCALE = 20
"""Minimum number of memories with both vectors for comparing the encoders' scales."""


class QueryVectors(NamedTuple):
    """A question's vectors, as far as available."""

    quick: Vector | None = None
    stronger: Vector | None = None


class DenseIndex:
    """Rows 0..n-1, as in `VectorIndex`. Not thread-safe: the user's index locks.

    Args:
        dimensions: of the fast encoder's vectors.
    """

    def __init__(self, dimensions: int) -> None:
        self.quick = VectorIndex(dimensions)
        self.stronger: VectorIndex | None = None
        """None until there is a stronger encoder."""

    @property
    def encoders(self) -> tuple[VectorIndex, ...]:
        """The fast encoder's vectors, then the stronger one's, if there is one."""
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
        """Number of rows without a stronger vector."""
        return int(self._lacks().sum())

    def lacking(self, limit: int) -> list[int]:
        """The newest rows without a stronger vector, newest first."""
        newest: list[int] = np.flatnonzero(self._lacks())[::-1][:limit].tolist()
        return newest

    def _lacks(self) -> NDArray[np.bool_]:
        """Which rows have a fast vector but no stronger one; none without a stronger encoder."""
        quick = self.quick.present
        strong = self.stronger.present if self.stronger is not None else quick
        count = min(len(quick), len(strong))  # another thread may be adding rows
        return quick[:count] & ~strong[:count]

    def attach(self, dimensions: int) -> None:
        """Add a stronger encoder; no row has its vector yet."""
        stronger = VectorIndex(dimensions)
        stronger.add_without(len(self.quick))
        self.stronger = stronger

    # -- rows -----------------------------------------------------------------------------------

    def add(self, vectors: ArrayLike) -> None:
        """Append rows with their fast vectors; NaN where there is none yet."""
        first = len(self.quick)
        self.quick.add(vectors)
        if self.stronger is not None:
            self.stronger.add_without(len(self.quick) - first)

    def add_without(self, count: int) -> None:
        self.quick.add_without(count)
        if self.stronger is not None:
            self.stronger.add_without(count)

    def replace(self, rows: list[int], vectors: ArrayLike, *, stronger: bool = False) -> None:
        """Set vectors of rows: the fast encoder's, or the stronger one's if there is one."""
        index = self.stronger if stronger else self.quick
        if index is not None:
            index.replace(rows, vectors)

    def remove(self, rows: list[int]) -> None:
        for vectors in self.encoders:
            vectors.remove(rows)

    # -- searching ------------------------------------------------------------------------------

    def usable(self, meaning: QueryVectors) -> QueryVectors:
        """The question's vectors that can be used now."""
        return meaning if self.serves else QueryVectors(meaning.quick)

    def near(self, meaning: QueryVectors, count: int) -> Rows:
        """The `count` nearest rows, unsorted; if only some rows have a stronger vector, of each
        kind.

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
        """Cosines of these rows, in their order; NaN for rows without a vector, all 0 if the
        question has none.

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

    def reader(self, meaning: QueryVectors, rows: Rows) -> VectorsAt | None:
        """A function that reads the vectors at some positions, for comparing rows with each other;
        zeros for missing ones. None if the question has no vector."""
        if meaning.stronger is not None and self.stronger is not None:
            about = self.stronger.about
        elif meaning.quick is not None:
            about = self.quick.about
        else:
            return None
        return lambda at: about(rows[at])


def blended(quick: Cosines, stronger: Cosines) -> Cosines:
    """Combines two cosines. Where the stronger one is NaN, the fast one is used, rescaled to
    match the rows that have both."""
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
