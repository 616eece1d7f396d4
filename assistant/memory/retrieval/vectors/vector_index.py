"""Nearest-neighbour search over one user's vectors in RAM.

A vector is stored in up to three forms. The signs of up to 384 dimensions select the nearest few
thousand rows by counting differing bits. Then 8-bit integers with one scale per vector score these
rows, within about 0.002 of the exact cosine. Rows of the hot tier also have exact values, and every
search scores them exactly. Rows of the warm tier are scored in every search too, by their 8-bit
integers. There are neither graphs nor clusters, so an added row is found immediately, and a removed
one leaves nothing behind.
"""

import threading
from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assistant.memory.records.arrays import NONE, Cosines, Rows, Vectors, places
from assistant.memory.retrieval.vectors.kernels import COMPILED
from assistant.memory.retrieval.vectors.quantized_rows import (
    FARTHEST,
    NEVER,
    ExactRows,
    QuantizedRows,
    packed,
    signs_of,
)
from assistant.memory.retrieval.vectors.tiers import Tier

ROOM = 131_072
"""Initial capacity in rows. It grows by doubling, which copies everything."""
BATCH = 1_024
"""Number of rows written while the lock is held, which takes about a millisecond."""
RESCORED = 2_048
"""Number of rows that the signs select for scoring. Among 100,000 memories, they include 99.5 % of
the 10 nearest rows and 97.5 % of the 80 nearest. With 1,024 rows, these figures are 98 and 91.5 %;
with 3,072, they are 99.8 and 98.8 %."""


class VectorIndex:
    """The vectors of the rows 0..n-1. A row may have no vector. Thread-safe.

    Args:
        dimensions: of the vectors.
        rescored: how many rows the signs select for scoring. A larger number misses fewer rows and
            takes longer.
    """

    def __init__(self, dimensions: int, *, rescored: int = RESCORED) -> None:
        self.dimensions = dimensions
        self._rescored = rescored
        self._quantized = QuantizedRows.empty(0, dimensions)
        self._rows = 0
        self._hot = ExactRows(dimensions)
        self._warm: Rows = np.zeros(0, np.int64)
        """Rows of the warm tier, ascending."""
        self._changed: set[int] | None = None
        """Rows changed or removed since `set_hot` began to read vectors; None when it is not
        running."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of rows, including removed ones and those without a vector."""
        return self._rows

    @property
    def hot(self) -> Rows:
        """Rows of the hot tier, ascending."""
        with self._lock:
            return self._hot.rows.copy()

    @property
    def warm(self) -> Rows:
        """Rows of the warm tier, ascending."""
        with self._lock:
            return self._warm

    @property
    def present(self) -> NDArray[np.bool_]:
        with self._lock:
            return self._quantized.present[: self._rows].copy()

    def add(self, vectors: ArrayLike) -> None:
        """Append rows. A row whose vector is NaN has no vector until `replace` sets it."""
        given = self._vectors(vectors)
        with self._lock:
            first = self._rows
            self._grow(len(given))
        self.replace(np.arange(first, first + len(given)), given)

    def add_without(self, count: int) -> None:
        with self._lock:
            self._grow(count)

    def replace(self, rows: Sequence[int] | Rows, vectors: ArrayLike) -> None:
        """Set the vectors of rows; NaN removes a vector. These rows leave the hot and warm
        tiers."""
        numbers, given = self._known(rows), self._vectors(vectors)
        if len(numbers) != len(given):
            raise ValueError(f"{len(numbers)} rows with {len(given)} vectors")
        for start in range(0, len(numbers), BATCH):
            part, new = numbers[start : start + BATCH], given[start : start + BATCH]
            fresh = packed(new)
            with self._lock:
                self._clear(part)
                self._quantized.write(part, fresh)

    def remove(self, rows: Sequence[int] | Rows) -> None:
        """Overwrite the vectors of rows with zeros, so that searches no longer find these rows."""
        numbers = self._known(rows)
        with self._lock:
            self._clear(numbers)

    def has(self, rows: Sequence[int] | Rows) -> NDArray[np.bool_]:
        numbers = self._known(rows)
        with self._lock:
            return self._quantized.present[numbers]

    def set_hot(self, rows: Sequence[int] | Rows, read: Callable[[Rows], ArrayLike]) -> None:
        """Replace the hot tier. Only one thread may call this at a time.

        Args:
            rows: the new hot tier; rows without a vector are left out.
            read: returns the exact vectors of rows, NaN for unknown ones. It is called for rows
                that are new in the tier, because the index has only their rounded vectors. Searches
                continue meanwhile.
        """
        wanted = np.unique(self._known(rows))
        with self._lock:
            self._changed = set()
            coming = wanted[~np.isin(wanted, self._hot.rows)]
        try:
            coming = coming[self.has(coming)]
            empty = np.empty((0, self.dimensions), np.float32)
            vectors = self._vectors(read(coming)) if len(coming) else empty
            readable = np.isfinite(vectors).all(axis=1)
            coming, vectors = coming[readable], vectors[readable]
            with self._lock:
                # Vectors written meanwhile are newer than those read.
                changed = list(self._changed)
                cooled = np.setdiff1d(self._hot.rows, [*wanted.tolist(), *changed])
                self._hot.drop(cooled)
                self._quantized.skipped[cooled] = 0
                settled = ~np.isin(coming, changed)
                self._hot.put(coming[settled], vectors[settled])
                self._leave_warm(coming[settled])
                self._quantized.skipped[coming[settled]] = NEVER
        finally:
            self._changed = None

    def set_warm(self, rows: Sequence[int] | Rows) -> None:
        """Replace the warm tier. Rows of the hot tier and rows without a vector are left out."""
        wanted = np.unique(self._known(rows))
        with self._lock:
            wanted = wanted[~np.isin(wanted, self._hot.rows)]
            self._quantized.skipped[self._warm] = 0
            self._warm = wanted[self._quantized.present[wanted]]
            self._quantized.skipped[self._warm] = NEVER

    def tiers(self, rows: Sequence[int] | Rows) -> list[Tier]:
        with self._lock:
            tiers = (self._hot.rows, self._warm)
            known = [places(each, self._known(rows)) != NONE for each in tiers]
            return [
                Tier.HOT if hot else Tier.WARM if warm else Tier.COLD
                for hot, warm in zip(*known, strict=True)
            ]

    def search(self, query: ArrayLike, k: int) -> tuple[Rows, Cosines]:
        """Return the k nearest rows, nearest first, and their cosines. There may be fewer.

        Rows of the hot and the warm tier are never missed. Other rows are found if they are among
        the `rescored` rows whose signs differ least from the query's.
        """
        wanted = self._vector(query)
        with self._lock:
            cold = self._nearest_by_signs(wanted, max(k, self._rescored))
            scored = np.concatenate([self._warm, cold])
            rows = np.concatenate([self._hot.rows, scored])
            cosines = np.concatenate(
                [self._hot.cosines(wanted), self._quantized.scored(wanted, scored)]
            )
        if len(rows) > k:
            best = np.argpartition(cosines, -k)[-k:]
            rows, cosines = rows[best], cosines[best]
        order = np.argsort(-cosines, kind="stable")
        return rows[order], cosines[order]

    def cosines(self, query: ArrayLike, rows: Sequence[int] | Rows) -> Cosines:
        """Return the cosines of these rows, in their order; NaN for rows without a vector."""
        wanted, numbers = self._vector(query), self._known(rows)
        with self._lock:
            cosines = self._quantized.scored(wanted, numbers)
            cosines[~self._quantized.present[numbers]] = np.nan
            self._hot.correct(wanted, numbers, cosines)
        return cosines

    def about(self, rows: Sequence[int] | Rows) -> Vectors:
        """Return the vectors of these rows, rounded to 8 bits; shape (rows, dimensions). Rows
        without a vector get zeros."""
        numbers = self._known(rows)
        with self._lock:
            vectors = self._quantized.codes.take(numbers, axis=0).astype(np.float32)
            vectors *= self._quantized.scales[numbers][:, np.newaxis]
        return vectors

    # -- internal, under the lock ---------------------------------------------------------------

    def _grow(self, count: int) -> None:
        self._rows += count
        while self._rows > (room := len(self._quantized)):
            self._quantized = self._quantized.grown(max(ROOM, 2 * room))

    def _clear(self, rows: Rows) -> None:
        if self._changed is not None:
            self._changed.update(rows.tolist())
        self._hot.drop(rows)
        self._leave_warm(rows)
        self._quantized.clear(rows)

    def _leave_warm(self, rows: Rows) -> None:
        if len(self._warm):
            self._warm = self._warm[~np.isin(self._warm, rows)]

    def _nearest_by_signs(self, query: Vectors, count: int) -> Rows:
        """Return the `count` cold rows whose signs differ least from the query's, ascending."""
        loops, signs = COMPILED.loops, signs_of(query[np.newaxis])
        if loops is not None and 64 * len(signs) == FARTHEST and count < self._rows:
            return self._sifted(loops, signs, count)
        distances = np.empty(self._rows, np.uint16)
        if count < self._rows:
            self._quantized.distances(signs, distances)
            # 32-bit numbers: processors partition them many times faster than 16-bit ones.
            limit = int(np.partition(distances.astype(np.uint32), count - 1)[count - 1])
        else:
            distances[:] = self._quantized.skipped[: self._rows]
            limit = NEVER
        if limit >= NEVER:
            return np.flatnonzero(distances < NEVER)
        rows = np.flatnonzero(distances <= limit)
        # Of the rows at the limit, the newest are taken.
        left_out = np.flatnonzero(distances.take(rows) == limit)[: len(rows) - count]
        kept = np.ones(len(rows), np.bool_)
        kept[left_out] = False
        return rows[kept]

    def _sifted(self, loops: ModuleType, signs: NDArray[np.uint64], count: int) -> Rows:
        """Compiled version of `_nearest_by_signs`."""
        distances = np.empty(self._rows, np.uint16)
        counts = np.zeros(FARTHEST + 2, np.int64)
        rows = self._quantized
        loops.distances(rows.signs, signs.ravel(), rows.skipped, distances, counts)
        so_far = counts[: FARTHEST + 1].cumsum()
        limit = min(int(np.searchsorted(so_far, count)), FARTHEST)
        found = int(so_far[limit])
        nearest: Rows = loops.up_to(distances, limit, max(0, found - count), min(found, count))
        return nearest

    # -- checking arguments ---------------------------------------------------------------------

    def _vectors(self, vectors: ArrayLike) -> Vectors:
        given = np.asarray(vectors, np.float32)
        if given.ndim != 2 or given.shape[1] != self.dimensions:
            raise ValueError(f"vectors of shape {given.shape}, not (n, {self.dimensions})")
        return given

    def _vector(self, query: ArrayLike) -> Vectors:
        (vector,) = self._vectors(np.asarray(query, np.float32)[np.newaxis])
        return np.asarray(vector)

    def _known(self, rows: Sequence[int] | Rows) -> Rows:
        numbers = np.asarray(rows, np.int64).reshape(-1)
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < self._rows:
            raise IndexError(f"not all of {numbers} are among the rows 0 to {self._rows - 1}")
        return numbers
