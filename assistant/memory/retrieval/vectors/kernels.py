"""Compiled loops over a large index. They take half as long as NumPy, which reads the memory again
for each operation.

Numba compiles them at first use, in some seconds, and caches the result on disk; after that,
loading takes a second. They take 0.1 GB of RAM, so they are loaded only for many rows, and in
silence, since loading keeps the interpreter busy.
"""

import logging
import os
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assistant.memory.records.arrays import Cosines, Rows
from assistant.paths import compiled_code_cache

logger = logging.getLogger(__name__)

ROWS = 30_000
"""Rows that make them worthwhile: with 100,000, a search is over a millisecond faster."""


class Loops(NamedTuple):
    """The compiled functions.

    Attributes:
        distances: arguments are the signs in six words, a query's signs, what to skip, and the
            output: see `QuantizedRows.distances`. Also counts, in the last argument, the rows at
            each distance, and after the farthest those that are skipped.
        up_to: the rows that are nearer than a limit, or at the limit after the first so many; so
            many in all.
        scored: from codes, scales, a query and rows: see `QuantizedRows.scored`.
        add: adds parts times a weight to the scores of some rows, each listed once.
    """

    distances: Callable[
        [NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint16], NDArray[np.uint16], Rows], None
    ]
    up_to: Callable[[NDArray[np.uint16], int, int, int], Rows]
    scored: Callable[[NDArray[np.int8], NDArray[np.float32], NDArray[np.float32], Rows], Cosines]
    add: Callable[[Cosines, NDArray[np.int32], NDArray[np.float32], np.float32], None]


class Compiled:
    """Loads the compiled loops. Any thread."""

    def __init__(self) -> None:
        self.loops: Loops | None = None
        """None until loaded."""
        self._tried = False

    def wanted(self, rows: int) -> bool:
        """Whether loading is worthwhile for this number of rows, and has not been tried."""
        return rows >= ROWS and not self._tried

    def load(self) -> None:
        """Blocking; once. If it fails, NumPy stays in use."""
        if self._tried:
            return
        self._tried = True
        os.environ.setdefault("NUMBA_CACHE_DIR", str(compiled_code_cache()))
        try:
            import assistant.memory.retrieval.vectors.kernels_numba as loops
        except Exception as error:  # a damaged cache may raise anything; the loops are optional
            logger.warning("the loops can't be compiled: %s", type(error).__name__, exc_info=True)
        else:
            self.loops = Loops(loops.distances, loops.up_to, loops.scored, loops.add)


COMPILED = Compiled()
"""Shared by the process."""
