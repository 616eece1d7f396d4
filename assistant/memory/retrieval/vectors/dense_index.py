"""The vectors of one user's memories: the quick encoder's of all that have any and, beside them,
those of a stronger encoder, of as many as it came to by now.

A question is searched for by the stronger encoder once half of the memories have its vector; what
has only the quick one's is found by that, on the other's scale. Where a memory has both, both
count: what one of them overlooks the other may see (figures in docs/benchmarks.md).
"""

from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from assistant.memory.records.arrays import Cosines, Rows, Vector, VectorsAt
from assistant.memory.retrieval.vectors.vector_index import VectorIndex

STRONGER = 0.85
"""What the stronger encoder's cosine counts of both."""
SCORED_ONE_BY_ONE = 3_072
"""So many that lack a stronger vector are all compared; of more the nearest are looked for."""
FEWEST_TO_SCALE = 20
"""Memories with both vectors by which the scales of two encoders are compared."""


class QueryVectors(NamedTuple):
    """A question's vectors, as far as they are there."""

    quick: Vector | None = None
    stronger: Vector | None = None


class DenseIndex:
    """Rows 0..n-1, as in `VectorIndex`. Not thread-safe in itself: the user's index locks.

    Args:
        dimensions: of the quick encoder's vectors.
    """

    def __init__(self, dimensions: int) -> None:
        self.quick = VectorIndex(dimensions)
        self.stronger: VectorIndex | None = None
        """None until there is such an encoder."""
        self._lacking: dict[int, None] = {}
        """Rows with a quick vector and without a stronger one, where there is such an encoder; the
        newest last."""
        self._having = 0
        """Rows with a stronger one."""

    @property
    def encoders(self) -> tuple[VectorIndex, ...]:
        """The quick encoder's vectors, then the stronger one's, if there is one."""
        return (self.quick,) if self.stronger is None else (self.quick, self.stronger)

    @property
    def serves(self) -> bool:
        """Whether questions are searched for by the stronger encoder."""
        return self.stronger is not None and self._having > 0 and self._having >= len(self._lacking)

    @property
    def missing(self) -> int:
        """Rows to be given their stronger vector."""
        return len(self._lacking)

    def lacking(self, limit: int) -> list[int]:
        """The last of them, the newest first."""
        return list(islice(reversed(self._lacking), limit))

    def attach(self, dimensions: int) -> None:
        """There is a stronger encoder from now on; no row has its vector yet."""
        count = len(self.quick)
        self.stronger = VectorIndex(dimensions)
        self.stronger.add_without(count)
        rows = np.arange(count)
        self._lacking = dict.fromkeys(rows[self.quick.has(rows)].tolist())
        self._having = 0

    # -- rows -----------------------------------------------------------------------------------

    def add(self, vectors: ArrayLike) -> None:
        """Append rows with their quick vectors; NaN where there is none yet."""
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
        """Give rows their quick vectors."""
        self.quick.replace(rows, vectors)
        self._look_at(np.asarray(rows, np.int64))

    def strengthen(self, rows: list[int], vectors: ArrayLike) -> None:
        """Give rows their stronger vectors."""
        if self.stronger is not None:
            before = self.stronger.has(rows)
            self.stronger.replace(rows, vectors)
            self._having += int(self.stronger.has(rows).sum() - before.sum())
            self._look_at(np.asarray(rows, np.int64))

    def remove(self, rows: list[int]) -> None:
        """Overwrite their vectors, of both encoders."""
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
        """What of it can be searched by now."""
        return meaning if self.serves else QueryVectors(meaning.quick)

    def near(self, meaning: QueryVectors, count: int) -> Rows:
        """The `count` nearest rows or, where there are two kinds of rows, of each; in no order.

        Args:
            meaning: `usable`.
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
        """Of chosen rows, in their order; NaN for those without a vector, 0 for all where nothing
        is known of the question.

        Args:
            meaning: `usable`.
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
        """Reads vectors by which the rows at some positions can be compared with each other, zeros
        where there is none; None where nothing is known of the question."""
        if meaning.stronger is not None and self.stronger is not None:
            about = self.stronger.about
        elif meaning.quick is not None:
            about = self.quick.about
        else:
            return None
        return lambda at: about(rows[at])


def blended(quick: Cosines, stronger: Cosines) -> Cosines:
    """One cosine of two, as far as they are there; where the stronger one is NaN, the quick one on
    its scale, as the rows with both tell it."""
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
