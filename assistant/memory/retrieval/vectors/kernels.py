"""Loops over a large index as machine code: a half of what they take in NumPy, which goes through
memory anew for each operation.

Numba compiles them when they are first wanted, in some seconds, and keeps the result on the disk;
from then on they are there in one. That takes 0.1 GB of RAM, so they are loaded only where there
are enough rows; and while nobody speaks, since the interpreter is busy with it.
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
"""From so many on they are worth it: of 100,000 a search is quicker by more than a millisecond."""


class Loops(NamedTuple):
    """
    Attributes:
        distances: of signs of six words, a query's signs, what is skipped, and where to write: see
            `Block.distances`. Also counts, into the last argument, the rows of each distance, and
            after the farthest those that are left out.
        up_to: of distances the rows that are nearer than a limit or at it, but for the first so
            many at it; so many in all.
        scored: of codes, scales, a query and rows: see `Block.scored`.
        add: to the scores of some rows, each once, their parts times a weight.
    """

    distances: Callable[
        [NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint16], NDArray[np.uint16], Rows], None
    ]
    up_to: Callable[[NDArray[np.uint16], int, int, int], Rows]
    scored: Callable[[NDArray[np.int8], NDArray[np.float32], NDArray[np.float32], Rows], Cosines]
    add: Callable[[Cosines, NDArray[np.int32], NDArray[np.float32], np.float32], None]


class Compiled:
    """Any thread."""

    def __init__(self) -> None:
        self.loops: Loops | None = None
        """None until they were loaded."""
        self._tried = False

    def wanted(self, rows: int) -> bool:
        """Whether it is worth while to load them for so many, and nobody tried yet."""
        return rows >= ROWS and not self._tried

    def load(self) -> None:
        """Blocking, once. Where it fails, NumPy's are used as before."""
        if self._tried:
            return
        self._tried = True
        os.environ.setdefault("NUMBA_CACHE_DIR", str(compiled_code_cache()))
        try:
            import assistant.memory.retrieval.vectors.kernels_numba as loops
        except Exception as error:  # a damaged cache has any: nobody needs the loops
            logger.warning("the loops can't be compiled: %s", type(error).__name__, exc_info=True)
        else:
            self.loops = Loops(loops.distances, loops.up_to, loops.scored, loops.add)


COMPILED = Compiled()
"""Of this process."""
