"""Converts a home from plain to encrypted or back, atomically, even if the process is killed.

The data is copied to a separate folder, and the copy is compared with the original. Renaming that
folder commits the conversion. If the process is killed before the rename, the next process that
opens the home deletes the copy. If it is killed after the rename, the next process continues to
move the new files into place. This too may be interrupted any number of times.
"""

import json
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from assistant.encryption.keys import KeyFile, MasterKey
from assistant.errors import StoreError
from assistant.paths import Home, flush_to_disk

UNFINISHED = "converting"
FINISHED = "converted"
PLAN = "plan.json"


class HomeStores(Protocol):
    """The operations on a home's stores that a change of the key requires."""

    @property
    def outside(self) -> bool:
        """Whether the memories are stored outside the home."""

    def check_convertible(self) -> None:
        """Raise StoreError if something has to be repaired before a conversion."""

    def check_key(self, key: MasterKey) -> None:
        """Raise StoreLocked if the memories are encrypted with another key, and StoreError if they
        can't be read."""

    def copy(
        self, fresh: Home, old: MasterKey | None, new: MasterKey | None, tell: Callable[[str], None]
    ) -> int:
        """Copy all data to the home `fresh`, encrypted with `new`, and compare the copy with the
        original.

        Returns:
            The number of memories that have ids from another program, or refer to such ids.
            These ids stay unencrypted.

        Raises:
            StoreError, OSError, sqlite3.Error: the data can't be copied, or the copy differs.
        """

    def damaged(self) -> Sequence[Path]:
        """Return the files that were set aside because they could not be read completely."""


def is_unfinished(home: Home) -> bool:
    """Return whether a conversion was started but not completed."""
    return (home.root / UNFINISHED).exists() or is_committed(home)


def is_committed(home: Home) -> bool:
    """Return whether a conversion in progress can no longer be rolled back."""
    return (home.root / FINISHED).exists()


def convert(
    home: Home,
    stores: HomeStores,
    old: MasterKey | None,
    new: MasterKey | None,
    locked: KeyFile | None,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Convert all data of the home from the key `old` to the key `new`. A key of None means plain
    data. The caller must hold the home's exclusive lock, and no conversion may be unfinished.

    Args:
        locked: the key file for `new`.
        tell: called with messages about the progress.

    Raises:
        StoreError: the data can't be read or written, or the copy differs. Nothing was changed.
    """
    stores.check_convertible()
    fresh = Home(home.root / UNFINISHED)
    try:
        fresh.root.mkdir(mode=0o700)
        readable = stores.copy(fresh, old, new, tell)
        if locked is not None:
            locked.write(fresh.key_file)
        (fresh.root / PLAN).write_text(json.dumps({"encrypted": new is not None}), "utf-8")
        flush_to_disk([fresh.root, *fresh.root.rglob("*")])
        fresh.root.rename(home.root / FINISHED)
    except BaseException as error:
        shutil.rmtree(fresh.root, ignore_errors=True)
        if not isinstance(error, OSError | sqlite3.Error):
            raise
        message = f"{home.root} can't be encrypted or decrypted: {error}. Nothing was changed."
        raise StoreError(message) from error
    finish_or_roll_back(home)
    if readable:
        tell(
            f"{readable:,} memories have ids from another program, or refer to such ids. Those ids"
            " stay unencrypted until the memories are exported and imported again."
        )


def finish_or_roll_back(home: Home) -> None:
    """Complete an unfinished conversion if it was committed, otherwise roll it back. The caller
    must hold the home's exclusive lock.

    Raises:
        StoreError: the folder can't be written.
    """
    try:
        if (home.root / UNFINISHED).exists():
            shutil.rmtree(home.root / UNFINISHED)
        fresh = home.root / FINISHED
        if (fresh / PLAN).exists():
            _swap(home, Home(fresh))
        if fresh.exists():
            shutil.rmtree(fresh)
    except OSError as error:
        raise StoreError(
            f"The conversion of {home.root} can't be completed: {error.strerror}.",
            mend="Make the folder writable, or free some space, and try again.",
        ) from error


def _swap(home: Home, fresh: Home) -> None:
    """Move the new files into place. The process may be killed between any two steps. A second run
    then skips the completed steps."""
    flush_to_disk([home.root])
    encrypted = bool(json.loads((fresh.root / PLAN).read_text("utf-8"))["encrypted"])
    if fresh.transcript.exists():
        for ending in ("-wal", "-shm"):
            home.transcript.with_name(home.transcript.name + ending).unlink(missing_ok=True)
        fresh.transcript.replace(home.transcript)
    for new, old in ((fresh.memories, home.memories), (fresh.recordings, home.recordings)):
        if new.exists():
            if old.exists():
                shutil.rmtree(old)
            new.rename(old)
    if fresh.key_file.exists():
        fresh.key_file.replace(home.key_file)
    elif not encrypted:
        home.key_file.unlink(missing_ok=True)
    flush_to_disk([home.root])
    (fresh.root / PLAN).unlink()
