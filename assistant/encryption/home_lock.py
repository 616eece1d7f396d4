"""A lock that prevents the conversion of a home while the home is in use.

Many processes may use a home at the same time, but a conversion needs an exclusive lock. The
operating system releases the lock however the process ends. Windows has no such locks: there, only
the memories are protected, by a separate lock.
"""

import os
import sys
from pathlib import Path

from assistant.errors import StoreError, StoreInUse
from assistant.paths import Home

NAME = ".in-use"


class HomeLock:
    """A lock that is held from construction until `release`. It is exclusive if `alone`, otherwise
    shared."""

    def __init__(self, home: Home, *, alone: bool) -> None:
        """Acquire the lock.

        Raises:
            StoreInUse: another process holds a conflicting lock.
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
        """Turn an exclusive lock into a shared one."""
        _locked(self._descriptor, alone=False)

    def release(self) -> None:
        """Release the lock. Idempotent."""
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
            mend="Close the other one and try again.",
        )
    return StoreInUse(
        f"The data folder {folder} is being encrypted or decrypted.",
        mend="Try again when that is done.",
    )
