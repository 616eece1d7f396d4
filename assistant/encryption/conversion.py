"""Converts a home from plain to encrypted or back, atomically, even if the process is killed.

A copy is written to a separate folder and compared with the original. Renaming that folder commits
the conversion. If the process is killed before that, the next process that uses the home deletes
the leftovers; if after it, the next process goes on moving the new files into place, however often
that is interrupted.
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
    """The operations on a home's stores that concern their key."""

    @property
    def outside(self) -> bool:
        """Whether the memories are stored outside the home."""

    def check_convertible(self) -> None:
        """Raises StoreError if something has to be repaired first."""

    def check_key(self, key: MasterKey) -> None:
        """Raises StoreLocked if the memories belong to another key; StoreError if they can't be
        read."""

    def copy(
        self, fresh: Home, old: MasterKey | None, new: MasterKey | None, tell: Callable[[str], None]
    ) -> int:
        """Write everything to another home under another key, and compare the two. Returns the
        number of memories whose ids stay unencrypted, or that refer to such ids. Raises StoreError,
        OSError and sqlite3.Error."""

    def damaged(self) -> Sequence[Path]:
        """Files that were set aside because they could not be read completely."""


def is_unfinished(home: Home) -> bool:
    """Whether a conversion was started but not completed."""
    return (home.root / UNFINISHED).exists() or is_committed(home)


def is_committed(home: Home) -> bool:
    """Whether a conversion is past the point where it can be rolled back."""
    return (home.root / FINISHED).exists()


def convert(
    home: Home,
    stores: HomeStores,
    old: MasterKey | None,
    new: MasterKey | None,
    locked: KeyFile | None,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Rewrite everything under another key. The caller holds the home's exclusive lock, and no
    conversion is pending.

    Args:
        locked: the key file for `new`.
        tell: called with messages about the progress.

    Raises:
        StoreError: something can't be read or written, or the copy differs; nothing was changed.
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
    """Complete a conversion or roll it back. The caller holds the home's exclusive lock.

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
    """Move the new files into place. The process may be killed between any two steps; a second run
    skips those that are done."""
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
