"""Converts errors from the disk and from SQLite to errors with a message for the user."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assistant.encryption import sqlite_failures
from assistant.errors import StoreBusy, StoreError


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Convert disk errors and SQLite errors in the block to StoreErrors about the transcript at
    `path`."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"The transcript {path} can't be opened: {error.strerror}.",
            mend="Choose another folder with --home DIR.",
        ) from error
    except sqlite_failures() as error:
        raise _sentence(error, path) from error


def _sentence(error: Exception, path: Path) -> StoreError:
    name = getattr(error, "sqlite_errorname", None) or ""
    if name.startswith("SQLITE_FULL"):
        return StoreError(
            f"The disk is full: the conversation can't be stored in {path}.",
            mend="Free some space; everything said in the meantime will then be stored.",
        )
    if name == "SQLITE_IOERR_WRITE":  # SQLite reports a full quota like this, too
        return StoreError(
            f"The conversation can't be written to {path}: the disk quota is used up, or"
            " the disk is failing.",
            mend="Free some space; everything said in the meantime will then be stored.",
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return StoreError(
            f"The transcript {path} can't be written.",
            mend="Make its folder writable, or choose another with --home DIR.",
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreBusy(
            f"The transcript {path} is in use by another program.",
            mend="Close the other program.",
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StoreError(
            f"The transcript {path} is damaged, so nothing is stored in it.",
            mend=f"Move it away: mv '{path}' '{path}.damaged'",
        )
    return StoreError(f"The transcript {path} failed: {error}.")
