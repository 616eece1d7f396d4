"""Import much in little time."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def imports_for_good() -> Iterator[None]:
    """Whatever is imported in this block stays until the process ends, so the garbage collector
    doesn't search it: that would take a fifth of the time that the imports take, and half of the
    time that the process needs to end."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
    gc.freeze()
    atexit.register(gc.freeze)
