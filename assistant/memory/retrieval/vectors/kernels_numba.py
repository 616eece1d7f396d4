"""The source of the loops that `kernels` loads. Importing this module compiles them with Numba, or
loads them from Numba's cache in a second."""

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

KEPT: dict[str, Any] = {"nogil": True, "cache": True}


def _ones(_: Any, word: Any) -> Any:
    """Return the number of set bits, using the processor's instruction for it."""

    def written(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(word), written


ones: Any = intrinsic(_ones)


def _distances(signs: Any, query: Any, skipped: Any, out: Any, counts: Any) -> None:
    """Compiled version of `QuantizedRows.distances` for signs in six 64-bit words.

    It also counts the rows at each distance in `counts`. Skipped rows are counted in its last
    entry.
    """
    a, b, c, d, e, f = query[0], query[1], query[2], query[3], query[4], query[5]
    for row in range(len(out)):
        bits = (
            ones(signs[0, row] ^ a)
            + ones(signs[1, row] ^ b)
            + ones(signs[2, row] ^ c)
            + ones(signs[3, row] ^ d)
            + ones(signs[4, row] ^ e)
            + ones(signs[5, row] ^ f)
        )
        distance = np.int64(bits) + np.int64(skipped[row])
        out[row] = distance
        counts[min(distance, len(counts) - 1)] += 1


def _up_to(distances: Any, limit: int, spared: int, count: int) -> Any:
    """Return `count` rows: those whose distance is below the limit, and those at the limit except
    the first `spared` ones."""
    rows, found = np.empty(count, np.int64), 0
    for row in range(len(distances)):
        distance = distances[row]
        if distance > limit:
            continue
        if distance == limit and spared > 0:
            spared -= 1
            continue
        rows[found] = row
        found += 1
    return rows


def _scored(codes: Any, scales: Any, query: Any, rows: Any) -> Any:
    """Compiled version of `QuantizedRows.scored`."""
    cosines = np.empty(len(rows), np.float32)
    fours = len(rows) - len(rows) % 4
    for at in range(0, fours, 4):  # four rows at a time, so that their cache misses overlap
        one, two, three, four = rows[at], rows[at + 1], rows[at + 2], rows[at + 3]
        first = second = third = fourth = np.float32(0)
        for place in range(len(query)):
            part = query[place]
            first += np.float32(codes[one, place]) * part
            second += np.float32(codes[two, place]) * part
            third += np.float32(codes[three, place]) * part
            fourth += np.float32(codes[four, place]) * part
        cosines[at], cosines[at + 1] = first * scales[one], second * scales[two]
        cosines[at + 2], cosines[at + 3] = third * scales[three], fourth * scales[four]
    for at in range(fours, len(rows)):
        row, total = rows[at], np.float32(0)
        for place in range(len(query)):
            total += np.float32(codes[row, place]) * query[place]
        cosines[at] = total * scales[row]
    return cosines


def _add(scores: Any, rows: Any, parts: Any, weight: Any) -> None:
    """Add `parts` times `weight` to the scores of some rows. No row occurs twice."""
    for at in range(len(rows)):
        scores[rows[at]] += parts[at] * weight


def _array(kind: Any, dimensions: int = 1) -> Any:
    """Return Numba's type for a read-only array, such as a question's vector. Functions compiled
    for this type accept writable arrays too."""
    return types.Array(kind, dimensions, "C", readonly=True)


distances = njit(
    types.void(
        _array(types.u8, 2), _array(types.u8), _array(types.u2), types.u2[::1], types.i8[::1]
    ),
    **KEPT,
)(_distances)
up_to = njit(types.i8[::1](_array(types.u2), types.i8, types.i8, types.i8), **KEPT)(_up_to)
scored = njit(
    types.f4[::1](_array(types.i1, 2), _array(types.f4), _array(types.f4), _array(types.i8)),
    fastmath=True,
    **KEPT,
)(_scored)
add = njit(types.void(types.f4[::1], _array(types.i4), _array(types.f4), types.f4), **KEPT)(_add)
