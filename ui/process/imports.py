"""Speed up large imports."""

import atexit
import gc
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

RARELY_USED = frozenset({"aiohttp"})
"""Modules that libraries import, but rarely use. Pipecat uses aiohttp to fetch files by their
address, which the assistant never does; importing aiohttp takes a tenth of the whole time, most of
it for reading the system's certificates. Before Python 3.11.9, two threads must not be the first to
use such a module at the same time."""


@contextmanager
def imports_for_good() -> Iterator[None]:
    """Exempt imported objects from garbage collection, because they stay until the process ends.
    Searching them for garbage would take a fifth of the import time, and half of the time that the
    process needs to end. Modules that are rarely used are loaded when something uses them."""
    gc.disable()
    lazily = _LazyFinder(RARELY_USED)
    sys.meta_path = [lazily, *sys.meta_path]
    try:
        yield
    finally:
        sys.meta_path = [each for each in sys.meta_path if each is not lazily]
        gc.enable()
    gc.freeze()
    atexit.register(gc.freeze)


class _LazyFinder:
    """Finds modules whose code runs when one of their attributes is first asked for."""

    def __init__(self, modules: Collection[str]) -> None:
        self._modules = modules

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in self._modules else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec
