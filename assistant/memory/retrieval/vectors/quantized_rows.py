"""Stores vectors in RAM: signs and 8-bit codes of all vectors, and exact values of a few."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistant.memory.records.arrays import NONE, Cosines, Rows, Vectors, places
from assistant.memory.retrieval.vectors.kernels import COMPILED

SIGNS = 384
"""Maximum number of dimensions whose signs are compared. For vectors of 768 dimensions, comparing
the first half finds the same rows as comparing all."""
FARTHEST = SIGNS
"""Largest possible number of differing signs."""
STEP = 8_192
"""Number of rows whose signs are compared at once, so that they fit into the processor's cache."""
SCORED_AT_ONCE = 256
"""Number of rows whose codes are converted to 32-bit numbers at once, so that they fit into the
processor's cache."""

NEVER = 0x4000
"""Number that the first pass of a search adds to the distance of rows that it must skip. It is
larger than any distance."""


def signs_of(vectors: Vectors) -> NDArray[np.uint64]:
    """Return one bit for each of the first `SIGNS` dimensions; shape (words of 64 bits, n)."""
    bits = np.packbits(vectors[:, :SIGNS] > 0, axis=1)
    words = np.zeros((len(bits), -(-bits.shape[1] // 8)), np.uint64)
    words.view(np.uint8)[:, : bits.shape[1]] = bits
    return words.T


@dataclass(frozen=True, slots=True)
class QuantizedRows:
    """Rows of vectors in quantised form. Unused capacity takes no RAM until it is written."""

    signs: NDArray[np.uint64]
    """Shape (words, rows), because a search reads one word of all rows at a time."""
    codes: NDArray[np.int8]
    scales: NDArray[np.float32]
    present: NDArray[np.bool_]
    skipped: NDArray[np.uint16]
    """`NEVER` for rows without a vector and for rows that every search scores anyway; 0 for all
    others."""

    @classmethod
    def empty(cls, rows: int, dimensions: int) -> "QuantizedRows":
        return cls(
            np.zeros((-(-min(dimensions, SIGNS) // 64), rows), np.uint64),
            np.zeros((rows, dimensions), np.int8),
            np.zeros(rows, np.float32),
            np.zeros(rows, np.bool_),
            np.full(rows, NEVER, np.uint16),
        )

    def __len__(self) -> int:
        return len(self.present)

    def grown(self, rows: int) -> "QuantizedRows":
        more = QuantizedRows.empty(rows, self.codes.shape[1])
        more.write(slice(len(self)), self)
        return more

    def write(self, rows: Rows | slice, given: "QuantizedRows") -> None:
        self.signs[:, rows] = given.signs
        self.codes[rows] = given.codes
        self.scales[rows] = given.scales
        self.present[rows] = given.present
        self.skipped[rows] = given.skipped

    def clear(self, rows: Rows) -> None:
        self.signs[:, rows] = 0
        self.codes[rows] = 0
        self.scales[rows] = 0
        self.present[rows] = False
        self.skipped[rows] = NEVER

    def distances(self, signs: NDArray[np.uint64], out: NDArray[np.uint16]) -> None:
        """Write to `out` the number of sign bits in which each of the first `len(out)` rows differs
        from the query. For rows that the search must skip, `NEVER` is added."""
        words = len(signs)
        differing = np.empty((words, STEP), np.uint64)
        bits = np.empty((words, STEP), np.uint8)
        for start in range(0, len(out), STEP):
            span = slice(start, min(start + STEP, len(out)))
            few = slice(span.stop - start)
            np.bitwise_xor(self.signs[:, span], signs, out=differing[:, few])
            np.bitwise_count(differing[:, few], out=bits[:, few])
            np.add.reduce(bits[:, few], axis=0, dtype=np.uint16, out=out[span])
        np.add(out, self.skipped[: len(out)], out=out)

    def scored(self, query: Vectors, rows: Rows) -> Cosines:
        """Return the cosines of these rows with the query; 0 for rows without a vector."""
        if COMPILED.loops is not None:
            wanted = np.ascontiguousarray(rows)
            found: Cosines = COMPILED.loops.scored(self.codes, self.scales, query, wanted)
            return found
        cosines = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), SCORED_AT_ONCE):
            part = slice(start, start + SCORED_AT_ONCE)
            # `take` copies whole rows in half the time of indexing.
            codes = self.codes.take(rows[part], axis=0)
            np.dot(codes.astype(np.float32), query, out=cosines[part])
        cosines *= self.scales.take(rows)
        return cosines


def packed(vectors: Vectors) -> QuantizedRows:
    """Quantise vectors to signs and 8-bit codes. A vector with a number that is not finite counts
    as missing."""
    present = np.asarray(np.isfinite(vectors).all(axis=1))
    vectors = np.where(present[:, np.newaxis], vectors, np.float32(0))
    scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(127)
    divisors = np.where(scales > 0, scales, np.float32(1))[:, np.newaxis]
    rounded = np.rint(vectors / divisors)
    # Choose the scale with which the rounded values are closest to the originals.
    squares = np.maximum(np.einsum("ij,ij->i", rounded, rounded), 1)
    scales = np.asarray(np.einsum("ij,ij->i", vectors, rounded) / squares, np.float32)
    codes = rounded.astype(np.int8)
    skipped = np.where(present, 0, NEVER).astype(np.uint16)
    return QuantizedRows(signs_of(vectors), codes, scales, present, skipped)


class ExactRows:
    """Exact vectors of a few rows, in ascending order of row numbers."""

    def __init__(self, dimensions: int) -> None:
        self.rows: Rows = np.zeros(0, np.int64)
        self._vectors: Vectors = np.zeros((0, dimensions), np.float32)

    def put(self, rows: Rows, vectors: Vectors) -> None:
        """Add rows that are not stored here yet."""
        rows = np.concatenate([self.rows, rows])
        order = np.argsort(rows)
        self.rows, self._vectors = rows[order], np.concatenate([self._vectors, vectors])[order]

    def drop(self, rows: Rows) -> None:
        kept = ~np.isin(self.rows, rows)
        if not kept.all():
            self.rows, self._vectors = self.rows[kept], self._vectors[kept]

    def cosines(self, query: Vectors) -> Cosines:
        return self._vectors @ query

    def correct(self, query: Vectors, rows: Rows, cosines: Cosines) -> None:
        """Replace the cosines of the rows that are stored here with exact ones, in place."""
        found = places(self.rows, rows)
        here = np.flatnonzero(found != NONE)
        cosines[here] = self._vectors[found[here]] @ query
