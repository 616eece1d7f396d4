"""Dense search over one user's memories, in RAM.

A vector is kept in three forms: the signs of up to 384 dimensions, to find the hundreds nearest of
all by counting the bits that differ; whole numbers of 8 bits with one scale, to score those (within
about 0.002 of the exact cosine); and, for the rows of the hot tier, as it is: they are scored
exactly, every one in every search. There is no graph and there are no clusters: what is added is
found at once, and what is removed leaves nothing behind.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vectors = NDArray[np.float32]
"""Shape (n, dimensions), of length 1."""
Rows = NDArray[np.int64]
Cosines = NDArray[np.float32]

BLOCK = 16_384
"""Rows in one piece of memory. Pieces are added as rows come; nothing is copied to grow."""
BATCH = 1_024
"""Rows that are written while searches wait: about a millisecond."""
SIGNS = 384
"""Dimensions whose signs are compared, at most: of 768 the first half finds the same rows."""
WORDS = 3
"""Words of 64 bits whose differing bits are counted together; their number fits 8 bits."""
RESCORED = 768
"""Rows that the first pass leaves to be scored."""
NEVER = 0x4000
"""What the first pass adds to the distance, in bits, of rows that it is to leave out."""


class VectorIndex:
    """Rows 0..n-1, each with a vector or still without one. Thread-safe.

    Args:
        dimensions: of the vectors.
        rescored: how many rows the first pass leaves; with more it misses less and takes longer.
    """

    def __init__(self, dimensions: int, *, rescored: int = RESCORED) -> None:
        self.dimensions = dimensions
        self._rescored = rescored
        self._blocks: list[_Block] = []
        self._rows = 0
        self._hot = _Hot(dimensions)
        self._changed: set[int] | None = None
        """Rows written or removed while vectors are being read for the hot tier."""
        self._lock = threading.Lock()
        self._choosing = threading.Lock()

    def __len__(self) -> int:
        """Rows, removed ones and those without a vector included."""
        return self._rows

    @property
    def hot(self) -> Rows:
        """The rows of the hot tier, in no order."""
        with self._lock:
            return self._hot.rows.copy()

    def add(self, vectors: ArrayLike, *, hot: bool = False) -> None:
        """Append rows. One whose vector is NaN is without a vector until `replace`."""
        given = self._vectors(vectors)
        with self._lock:
            first = self._rows
            self._grow(len(given))
        self.replace(np.arange(first, first + len(given)), given, hot=hot)

    def add_without(self, count: int) -> None:
        """Append rows that get their vectors later."""
        with self._lock:
            self._grow(count)

    def replace(self, rows: Sequence[int] | Rows, vectors: ArrayLike, *, hot: bool = False) -> None:
        """Give rows their vectors, or others in place of those they have (NaN takes them away).

        Args:
            hot: keep them in the hot tier from now on, until `set_hot` says otherwise; without it
                they leave the tier.
        """
        numbers, given = self._known(rows), self._vectors(vectors)
        if len(numbers) != len(given):
            raise ValueError(f"{len(numbers)} rows with {len(given)} vectors")
        for start in range(0, len(numbers), BATCH):
            part, new = numbers[start : start + BATCH], given[start : start + BATCH]
            packed = _packed(new)
            with self._lock:
                self._clear(part)
                for block, local, at in self._located(part):
                    block.write(local, packed, at)
                if hot:
                    self._heat(part[packed.present], new[packed.present])

    def remove(self, rows: Sequence[int] | Rows) -> None:
        """Overwrite what is kept of their vectors with zeros; these rows never come up again."""
        numbers = self._known(rows)
        with self._lock:
            self._clear(numbers)

    def has(self, rows: Sequence[int] | Rows) -> NDArray[np.bool_]:
        """Which of these rows have a vector."""
        numbers = self._known(rows)
        found = np.zeros(len(numbers), np.bool_)
        with self._lock:
            for block, local, at in self._located(numbers):
                found[at] = block.present[local]
        return found

    def set_hot(self, rows: Sequence[int] | Rows, read: Callable[[Rows], ArrayLike]) -> None:
        """Choose the hot tier anew.

        Args:
            rows: those that shall be in it; the ones without a vector are left out.
            read: gives the exact vectors of the rows that are not in it yet, since the index has
                them no more. Searches go on meanwhile.
        """
        wanted = np.unique(self._known(rows))
        with self._choosing:
            with self._lock:
                self._changed = set()
                coming = wanted[~np.isin(wanted, self._hot.rows)]
            try:
                coming = coming[self.has(coming)]
                empty = np.empty((0, self.dimensions), np.float32)
                vectors = self._vectors(read(coming)) if len(coming) else empty
                with self._lock:
                    # What was written meanwhile is newer than what was chosen and read.
                    changed = list(self._changed)
                    self._cool(np.setdiff1d(self._hot.rows, [*wanted.tolist(), *changed]))
                    settled = ~np.isin(coming, changed)
                    self._heat(coming[settled], vectors[settled])
            finally:
                self._changed = None

    def search(self, query: ArrayLike, k: int) -> tuple[Rows, Cosines]:
        """The k nearest rows, nearest first, and their cosines; fewer where there are fewer.

        Rows of the hot tier are never missed. Of the others those are found that are among the
        `rescored` with the most signs in common with the query.
        """
        wanted = self._vector(query)
        with self._lock:
            cold = self._nearest_by_signs(wanted, max(k, self._rescored))
            rows = np.concatenate([self._hot.rows, cold])
            cosines = np.concatenate([self._hot.cosines(wanted), self._scored(wanted, cold)])
        if len(rows) > k:
            best = np.argpartition(-cosines, k)[:k]
            rows, cosines = rows[best], cosines[best]
        order = np.argsort(-cosines, kind="stable")
        return rows[order], cosines[order]

    def cosines(self, query: ArrayLike, rows: Sequence[int] | Rows) -> Cosines:
        """Of chosen rows, in their order; 0 for those without a vector."""
        wanted, numbers = self._vector(query), self._known(rows)
        with self._lock:
            cosines = self._scored(wanted, numbers)
            self._hot.correct(wanted, numbers, cosines)
        return cosines

    def about(self, rows: Sequence[int] | Rows) -> Vectors:
        """The vectors of chosen rows, rounded to 8 bits; shape (rows, dimensions), zeros for those
        without one."""
        numbers = self._known(rows)
        vectors = np.zeros((len(numbers), self.dimensions), np.float32)
        with self._lock:
            for block, local, at in self._located(numbers):
                vectors[at] = block.codes[local]
                vectors[at] *= block.scales[local][:, np.newaxis]
        return vectors

    # -- inside, under the lock -----------------------------------------------------------------

    def _grow(self, count: int) -> None:
        self._rows += count
        while len(self._blocks) * BLOCK < self._rows:
            self._blocks.append(_Block.empty(self.dimensions))

    def _located(self, rows: Rows) -> Iterator[tuple["_Block", Rows, Rows]]:
        """By block: the rows' places in it, and their places in `rows`."""
        numbers = rows // BLOCK
        for number in np.unique(numbers):
            at = np.flatnonzero(numbers == number)
            yield self._blocks[number], rows[at] - number * BLOCK, at

    def _clear(self, rows: Rows) -> None:
        if self._changed is not None:
            self._changed.update(rows.tolist())
        self._hot.drop(rows)
        for block, local, _ in self._located(rows):
            block.clear(local)

    def _heat(self, rows: Rows, vectors: Vectors) -> None:
        self._hot.put(rows, vectors)
        for block, local, _ in self._located(rows):
            block.skipped[local] = NEVER

    def _cool(self, rows: Rows) -> None:
        self._hot.drop(rows)
        for block, local, _ in self._located(rows):
            block.skipped[local] = 0

    def _nearest_by_signs(self, query: Vectors, count: int) -> Rows:
        """The `count` rows outside the hot tier whose signs differ least from the query's."""
        signs = _signs(query[np.newaxis])[:, 0]
        distances = np.empty(len(self._blocks) * BLOCK, np.uint16)
        for number, block in enumerate(self._blocks):
            block.distances(signs, distances[number * BLOCK : (number + 1) * BLOCK])
        # Of 16 bits each: processors with wide registers partition those ten times as fast.
        limit = np.partition(distances, count - 1)[count - 1] if count < len(distances) else NEVER
        if limit >= NEVER:
            return np.flatnonzero(distances < NEVER)
        rows = np.flatnonzero(distances <= limit)
        # Of those that are level at the limit the newest.
        level = np.flatnonzero(distances[rows] == limit)
        return np.delete(rows, level[: len(rows) - count])

    def _scored(self, query: Vectors, rows: Rows) -> Cosines:
        cosines = np.zeros(len(rows), np.float32)
        for block, local, at in self._located(rows):
            cosines[at] = block.codes[local].astype(np.float32) @ query * block.scales[local]
        return cosines

    # -- what is given --------------------------------------------------------------------------

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
            raise IndexError(f"there are rows 0 to {self._rows - 1}, not all of {numbers}")
        return numbers


def _signs(vectors: Vectors) -> NDArray[np.uint64]:
    """A bit for each of the first `SIGNS` dimensions; shape (words of 64 bits, n)."""
    bits = np.packbits(vectors[:, :SIGNS] > 0, axis=1)
    words = np.zeros((len(bits), -(-bits.shape[1] // 8)), np.uint64)
    words.view(np.uint8)[:, : bits.shape[1]] = bits
    return words.T


@dataclass(frozen=True, slots=True)
class _Packed:
    """Vectors in their two small forms."""

    present: NDArray[np.bool_]
    signs: NDArray[np.uint64]
    codes: NDArray[np.int8]
    scales: NDArray[np.float32]


def _packed(vectors: Vectors) -> _Packed:
    present = np.asarray(np.isfinite(vectors).all(axis=1))
    vectors = np.where(present[:, np.newaxis], vectors, np.float32(0))
    scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(127)
    divisors = np.where(scales > 0, scales, np.float32(1))[:, np.newaxis]
    codes = np.rint(vectors / divisors).astype(np.int8)
    return _Packed(present, _signs(vectors), codes, scales)


@dataclass(frozen=True, slots=True)
class _Block:
    """`BLOCK` rows. Fresh pages of zeros cost no memory until they are written."""

    signs: NDArray[np.uint64]
    """Shape (words, BLOCK): a search goes through it a word at a time."""
    codes: NDArray[np.int8]
    scales: NDArray[np.float32]
    present: NDArray[np.bool_]
    skipped: NDArray[np.uint16]
    """0, or `NEVER` for rows without a vector and those of the hot tier."""

    @classmethod
    def empty(cls, dimensions: int) -> "_Block":
        return cls(
            np.zeros((-(-min(dimensions, SIGNS) // 64), BLOCK), np.uint64),
            np.zeros((BLOCK, dimensions), np.int8),
            np.zeros(BLOCK, np.float32),
            np.zeros(BLOCK, np.bool_),
            np.full(BLOCK, NEVER, np.uint16),
        )

    def write(self, local: Rows, packed: _Packed, at: Rows) -> None:
        self.signs[:, local] = packed.signs[:, at]
        self.codes[local] = packed.codes[at]
        self.scales[local] = packed.scales[at]
        self.present[local] = packed.present[at]
        self.skipped[local] = np.where(packed.present[at], 0, NEVER)

    def clear(self, local: Rows) -> None:
        self.signs[:, local] = 0
        self.codes[local] = 0
        self.scales[local] = 0
        self.present[local] = False
        self.skipped[local] = NEVER

    def distances(self, signs: NDArray[np.uint64], out: NDArray[np.uint16]) -> None:
        """How many bits of each row differ from these, into `out`."""
        out[:] = self.skipped
        differing = np.empty(BLOCK, np.uint64)
        bits, few = np.empty((2, BLOCK), np.uint8)
        for start in range(0, len(signs), WORDS):
            few[:] = 0
            words = slice(start, start + WORDS)
            for mine, theirs in zip(self.signs[words], signs[words], strict=True):
                np.bitwise_xor(mine, theirs, out=differing)
                np.bitwise_count(differing, out=bits)
                np.add(few, bits, out=few)
            np.add(out, few, out=out)


class _Hot:
    """Exact vectors of a few rows, close together; the places of those that leave are filled."""

    def __init__(self, dimensions: int) -> None:
        self._vectors: Vectors = np.zeros((0, dimensions), np.float32)
        self._numbers: Rows = np.zeros(0, np.int64)
        self._places: dict[int, int] = {}

    @property
    def rows(self) -> Rows:
        return self._numbers[: len(self._places)]

    def put(self, rows: Rows, vectors: Vectors) -> None:
        self._reserve(len(self._places) + len(rows))
        for row, vector in zip(rows.tolist(), vectors, strict=True):
            place = self._places.setdefault(row, len(self._places))
            self._numbers[place] = row
            self._vectors[place] = vector

    def drop(self, rows: Rows) -> None:
        for row in rows.tolist():
            place = self._places.pop(row, None)
            if place is None:
                continue
            last = len(self._places)
            if place != last:
                moved = int(self._numbers[last])
                self._places[moved] = place
                self._numbers[place] = moved
                self._vectors[place] = self._vectors[last]
            self._vectors[last] = 0

    def cosines(self, query: Vectors) -> Cosines:
        return self._vectors[: len(self._places)] @ query

    def correct(self, query: Vectors, rows: Rows, cosines: Cosines) -> None:
        """Put the exact cosines in place of those of rows that are here."""
        for at, row in enumerate(rows.tolist()):
            place = self._places.get(row)
            if place is not None:
                cosines[at] = self._vectors[place] @ query

    def _reserve(self, count: int) -> None:
        if count > len(self._vectors):
            more = max(count, 2 * len(self._vectors)) - len(self._vectors)
            self._vectors = np.pad(self._vectors, ((0, more), (0, 0)))
            self._numbers = np.pad(self._numbers, (0, more))
