"""Speed up large imports."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def imports_for_good() -> Iterator[None]:
    """Exempt imported objects from garbage collection, because they stay until the process ends.
    Searching them for garbage would take a fifth of the import time, and half of the time that the
    process needs to end."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
    gc.freeze()
    atexit.register(gc.freeze)
