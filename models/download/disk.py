"""Functions for the model cache's folder: its lock, its size, and messages for disk errors."""

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from assistant.errors import StoreError
from models.download.sources import PullStopped

FULL = frozenset(
    getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name)
)
"""Error numbers of a full disk, an exhausted quota and a file that is too large."""

SPARE_BYTES = 32 << 20
"""Number of bytes that a download leaves free on the disk."""


def size_text(size: int) -> str:
    """Format a number of bytes for the user, e.g. "612 B", "4.8 kB", "75.5 MB" or "1.12 GB"."""
    if size < 1000:
        return f"{size} B"
    if size < 1000**2:
        return f"{size / 1000:.1f} kB"
    if size < 1000**3:
        return f"{size / 1000**2:.1f} MB"
    return f"{size / 1000**3:.2f} GB"


def unwritable(cache: Path, name: str, error: OSError) -> StoreError:
    """Convert a disk error to an error with a message for the user. `name` is the model's name."""
    if error.errno in FULL:
        return StoreError(
            f"The disk with the model cache {cache} is full; the part downloaded so far is kept.",
            mend=f"Free some space, then: assistant models pull {name}",
        )
    return StoreError(f"The model cache {cache} can't be used: {error.strerror or error}.")


def files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files below a folder in sorted order, each as its path relative to the folder and
    its full path."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path


def folder_bytes(folder: Path) -> int:
    """Return the total size in bytes of the files below a folder. Files that are deleted meanwhile
    count as empty."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(parent, name).lstat().st_size
    return total


@contextmanager
def cache_lock(
    path: Path, stop: threading.Event | None, tell: Callable[[], None]
) -> Iterator[None]:
    """Hold the lock of the cache during the block. The system releases the lock if the process is
    killed.

    Args:
        path: the lock's file.
        stop: set it to stop waiting for the lock. None: don't wait.
        tell: called repeatedly while another process holds the lock.

    Raises:
        PullStopped: `stop` was set while another process held the lock.
        StoreError: another process holds the lock, and `stop` is None.
    """
    lock = FileLock(path)
    while True:
        try:
            lock.acquire(timeout=0.2)
            break
        except Timeout as taken:
            if stop is None:
                raise StoreError(
                    "Another process is changing the models.",
                    mend="Try again when it has finished.",
                ) from taken
            if stop.is_set():
                raise PullStopped("The download was stopped.") from taken
            tell()
    try:
        yield
    finally:
        lock.release()
