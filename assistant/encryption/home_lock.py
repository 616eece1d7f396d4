"""Whoever uses a home says so, so that nobody converts it underneath.

Many may use a home at once; a conversion has it alone. The operating system lets go of the lock
whatever happens to the process. Where files can't be locked so (Windows), only the memories' own
lock holds.
"""

import os
import sys
from pathlib import Path

from assistant.errors import StoreError, StoreInUse
from assistant.paths import Home

NAME = ".in-use"


class HomeLock:
    """Held from construction to `release`, shared with others or alone."""

    def __init__(self, home: Home, *, alone: bool) -> None:
        """
        Raises:
            StoreInUse: somebody else is in the way.
            StoreError: the lock file can't be written.
        """
        path = home.root / NAME
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreError(f"The lock {path} can't be written: {error.strerror}.") from error
        if not _locked(self._descriptor, alone=alone):
            self.release()
            raise _in_use(home.root, alone=alone)

    def share(self) -> None:
        """From alone to shared: others may come in from now on."""
        _locked(self._descriptor, alone=False)

    def release(self) -> None:
        """Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _locked(descriptor: int, *, alone: bool) -> bool:
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _in_use(folder: Path, *, alone: bool) -> StoreInUse:
    if alone:
        return StoreInUse(
            f"The data folder {folder} is in use by another assistant.",
            mend="Close the other one, and try again.",
        )
    return StoreInUse(
        f"The data folder {folder} is just being converted.", mend="Try again when that is done."
    )
