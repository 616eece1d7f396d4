"""Loads compiled loops for a large index. They take half as long as NumPy, which reads the data
again for each operation.

Numba compiles the loops at first use, which takes some seconds, and caches the result on disk.
After that, loading takes a second. The loops need 0.1 GB of RAM, so they are loaded only if there
are many rows. Loading keeps the interpreter busy, so it is done while nobody speaks.
"""

import logging
import os
from importlib import import_module
from types import ModuleType

from assistant.paths import compiled_code_cache

logger = logging.getLogger(__name__)

ROWS = 30_000
"""Minimum number of rows for which the loops are loaded. With 100,000 rows, they make a search more
than a millisecond faster."""
SOURCE = "assistant.memory.retrieval.vectors.kernels_numba"


class Compiled:
    """Loads the search loops that numba compiles to machine code. Thread-safe."""

    def __init__(self) -> None:
        self.loops: ModuleType | None = None
        """The module `kernels_numba`; None until it is loaded."""
        self._tried = False

    def wanted(self, rows: int) -> bool:
        """Return whether this number of rows makes the loops worthwhile and loading has not been
        tried yet."""
        return rows >= ROWS and not self._tried

    def load(self) -> None:
        """Try to load the loops. If this fails, NumPy is used, and loading is not tried again.
        Blocking."""
        if self._tried:
            return
        self._tried = True
        os.environ.setdefault("NUMBA_CACHE_DIR", str(compiled_code_cache()))
        try:
            self.loops = import_module(SOURCE)
        except Exception as error:  # a damaged cache may raise anything; the loops are optional
            logger.warning("the loops can't be compiled: %s", type(error).__name__, exc_info=True)


COMPILED = Compiled()
"""The loops of this process, shared by all indexes."""
