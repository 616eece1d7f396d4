"""The vectors of one user's memories: the fast encoder's, and beside them those of a stronger
encoder for as many as it has encoded so far.

Once half of the memories have a stronger vector, questions use the stronger encoder; memories with
only a fast vector are found by that, rescaled. If a memory has both, both count: one may find what
the other misses (figures in docs/benchmarks.md).
"""

from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from assistant.memory.records.arrays import Cosines, Rows, Vector, VectorsAt
from assistant.memory.retrieval.vectors.vector_index import VectorIndex

STRONGER = 0.85
"""Weight of the stronger encoder's cosine; the fast one's has the rest."""
SCORED_ONE_BY_ONE = 3_072
"""Up to this number, all rows without a stronger vector are compared; beyond it, the nearest."""
FEWEST_TO_SCALE = 20
"""Memories with both vectors that are needed to compare the encoders' scales."""


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
        self._lacking: dict[int, None] = {}
        """Rows with a fast vector but no stronger one, newest last; only if there is a stronger
        encoder."""
        self._having = 0
        """Rows with a stronger vector."""

    @property
    def encoders(self) -> tuple[VectorIndex, ...]:
        """The fast encoder's vectors, then the stronger one's, if there is one."""
        return (self.quick,) if self.stronger is None else (self.quick, self.stronger)

    @property
    def serves(self) -> bool:
        """Whether questions use the stronger encoder."""
        return self.stronger is not None and self._having > 0 and self._having >= len(self._lacking)

    @property
    def missing(self) -> int:
        """Number of rows without a stronger vector."""
        return len(self._lacking)

    def lacking(self, limit: int) -> list[int]:
        """The newest rows without a stronger vector, newest first."""
        return list(islice(reversed(self._lacking), limit))

    def attach(self, dimensions: int) -> None:
        """Add a stronger encoder; no row has its vector yet."""
        count = len(self.quick)
        self.stronger = VectorIndex(dimensions)
        self.stronger.add_without(count)
        rows = np.arange(count)
        self._lacking = dict.fromkeys(rows[self.quick.has(rows)].tolist())
        self._having = 0

    # -- rows -----------------------------------------------------------------------------------

    def add(self, vectors: ArrayLike) -> None:
        """Append rows with their fast vectors; NaN where there is none yet."""
        first = len(self.quick)
        self.quick.add(vectors)
        if self.stronger is not None:
            self.stronger.add_without(len(self.quick) - first)
            self._look_at(np.arange(first, len(self.quick)))

    def add_without(self, count: int) -> None:
        """Append rows that get their vectors later."""
        self.quick.add_without(count)
        if self.stronger is not None:
            self.stronger.add_without(count)

    def replace(self, rows: list[int], vectors: ArrayLike) -> None:
        """Set the fast vectors of rows."""
        self.quick.replace(rows, vectors)
        self._look_at(np.asarray(rows, np.int64))

    def strengthen(self, rows: list[int], vectors: ArrayLike) -> None:
        """Set the stronger vectors of rows."""
        if self.stronger is not None:
            before = self.stronger.has(rows)
            self.stronger.replace(rows, vectors)
            self._having += int(self.stronger.has(rows).sum() - before.sum())
            self._look_at(np.asarray(rows, np.int64))

    def remove(self, rows: list[int]) -> None:
        """Overwrite the rows' vectors of both encoders."""
        self.quick.remove(rows)
        if self.stronger is not None:
            self._having -= int(self.stronger.has(rows).sum())
            self.stronger.remove(rows)
            self._lack_no_more(rows)

    def _look_at(self, rows: Rows) -> None:
        if self.stronger is not None:
            lack = self.quick.has(rows) & ~self.stronger.has(rows)
            self._lack_no_more(rows.tolist())
            self._lacking |= dict.fromkeys(rows[lack].tolist())

    def _lack_no_more(self, rows: list[int]) -> None:
        for row in rows:
            self._lacking.pop(row, None)

    # -- searching ------------------------------------------------------------------------------

    def usable(self, meaning: QueryVectors) -> QueryVectors:
        """Those of the question's vectors that can be used now."""
        return meaning if self.serves else QueryVectors(meaning.quick)

    def near(self, meaning: QueryVectors, count: int) -> Rows:
        """The `count` nearest rows, unsorted; if there are two kinds of rows, of each kind.

        Args:
            meaning: as returned by `usable`.
        """
        quick, stronger = meaning
        parts: list[Rows] = [np.empty(0, np.int64)]
        if stronger is not None and self.stronger is not None:
            parts.append(self.stronger.search(stronger, count)[0])
            if quick is not None and self._lacking:
                parts.append(self._near_lacking(quick, count))
        elif quick is not None:
            parts.append(self.quick.search(quick, count)[0])
        return np.concatenate(parts).astype(np.int64)

    def _near_lacking(self, quick: Vector, count: int) -> Rows:
        if len(self._lacking) > SCORED_ONE_BY_ONE and self.stronger is not None:
            rows = self.quick.search(quick, count)[0]
            return np.asarray(rows[~self.stronger.has(rows)])
        rows = np.array(sorted(self._lacking), np.int64)
        if len(rows) > count:
            cosines = self.quick.cosines(quick, rows)
            rows = rows[np.argpartition(-cosines, count)[:count]]
        return rows

    def cosines(self, meaning: QueryVectors, rows: Rows) -> Cosines:
        """Cosines of these rows, in their order; NaN without a vector, all 0 if the question has
        none.

        Args:
            meaning: as returned by `usable`.
        """
        quick, stronger = meaning
        if stronger is not None and self.stronger is not None:
            strong = self.stronger.cosines(stronger, rows, missing=np.nan)
            if quick is None:
                return strong
            return blended(self.quick.cosines(quick, rows, missing=np.nan), strong)
        if quick is not None:
            return self.quick.cosines(quick, rows, missing=np.nan)
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
    """Combines two cosines. Where the stronger one is NaN, the fast one is used, rescaled by the
    rows that have both."""
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
