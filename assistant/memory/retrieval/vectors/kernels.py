"""Compiled loops over a large index. They take half as long as NumPy, which reads the memory again
for each operation.

Numba compiles them at first use, in some seconds, and caches the result on disk; after that,
loading takes a second. They take 0.1 GB of RAM, so they are loaded only for many rows, and while
nobody speaks, since loading keeps the interpreter busy.
"""

import logging
import os
from importlib import import_module
from types import ModuleType

from assistant.paths import compiled_code_cache

logger = logging.getLogger(__name__)

ROWS = 30_000
"""Minimum number of rows that makes the loops worthwhile: with 100,000, a search is over a
millisecond faster."""
SOURCE = "assistant.memory.retrieval.vectors.kernels_numba"


class Compiled:
    """Loads the compiled loops. Any thread."""

    def __init__(self) -> None:
        self.loops: ModuleType | None = None
        """`kernels_numba`; None until loaded."""
        self._tried = False

    def wanted(self, rows: int) -> bool:
        """Whether loading is worthwhile for this number of rows, and has not been tried."""
        return rows >= ROWS and not self._tried

    def load(self) -> None:
        """Try to load the loops, only once. If that fails, NumPy remains in use. Blocking."""
        if self._tried:
            return
        self._tried = True
        os.environ.setdefault("NUMBA_CACHE_DIR", str(compiled_code_cache()))
        try:
            self.loops = import_module(SOURCE)
        except Exception as error:  # a damaged cache may raise anything; the loops are optional
            logger.warning("the loops can't be compiled: %s", type(error).__name__, exc_info=True)


COMPILED = Compiled()
"""The process's loops, shared by all indexes."""
