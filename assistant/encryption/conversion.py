"""A home from plain to encrypted, or back: all of it or nothing, whenever the process is killed.

A copy is written to a folder of its own and compared with what it was made of. Renaming that folder
is the moment in which it counts: before it, what is left over is thrown away; after it,
`finish_or_roll_back` goes on putting the new files in the old ones' place, as often as it takes.
Both is done by whoever uses the home next.
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
    """What is kept of a home, as far as its key is concerned."""

    @property
    def outside(self) -> bool:
        """The memories are not in the home."""

    def check_convertible(self) -> None:
        """Raises StoreError: something has to be repaired first."""

    def check_key(self, key: MasterKey) -> None:
        """Raises StoreError: the memories can't be read with it. StoreLocked: it is another's."""

    def copy(
        self, fresh: Home, old: MasterKey | None, new: MasterKey | None, tell: Callable[[str], None]
    ) -> int:
        """Write all of it into another home under another key, and compare; returns how many
        memories keep ids that stay readable. Raises StoreError, OSError and sqlite3.Error."""

    def damaged(self) -> Sequence[Path]:
        """What was set aside, since it could not be read as a whole."""


def is_unfinished(home: Home) -> bool:
    """Whether a conversion was begun and not brought to its end."""
    return (home.root / UNFINISHED).exists() or is_committed(home)


def is_committed(home: Home) -> bool:
    """Whether a conversion is past the moment in which it can be taken back."""
    return (home.root / FINISHED).exists()


def convert(
    home: Home,
    stores: HomeStores,
    old: MasterKey | None,
    new: MasterKey | None,
    locked: KeyFile | None,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Write everything anew under another key. The caller has the home alone, and it is settled.

    Args:
        locked: the key file that goes with `new`.
        tell: hears what is being done.

    Raises:
        StoreError: something can't be read or written, or did not come out as it went in; nothing
            was changed.
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
    except (OSError, sqlite3.Error) as error:
        shutil.rmtree(fresh.root, ignore_errors=True)
        raise StoreError(
            f"{home.root} can't be converted: {error}. Nothing was changed."
        ) from error
    except BaseException:
        shutil.rmtree(fresh.root, ignore_errors=True)
        raise
    finish_or_roll_back(home)
    if readable:
        tell(
            f"{readable:,} memories have ids of another program, or refer to such: these stay"
            " readable until they are exported and imported again."
        )


def finish_or_roll_back(home: Home) -> None:
    """Finish a conversion, or take it back. The caller has the home alone.

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
            f"The conversion of {home.root} can't be brought to its end: {error.strerror}.",
            mend="Make the folder writable, or free some space, and try again.",
        ) from error


def _swap(home: Home, fresh: Home) -> None:
    """Each step may be the last before a kill, and is done or left out the next time."""
    flush_to_disk([home.root])
    encrypted = bool(json.loads((fresh.root / PLAN).read_text("utf-8"))["encrypted"])
    if fresh.transcript.exists():
        for ending in ("-wal", "-shm"):
            home.transcript.with_name(home.transcript.name + ending).unlink(missing_ok=True)
        fresh.transcript.replace(home.transcript)
    if fresh.memories.exists():
        if home.memories.exists():
            shutil.rmtree(home.memories)
        fresh.memories.rename(home.memories)
    if fresh.recordings.exists():
        if home.recordings.exists():
            shutil.rmtree(home.recordings)
        fresh.recordings.rename(home.recordings)
    if fresh.key_file.exists():
        fresh.key_file.replace(home.key_file)
    elif not encrypted:
        home.key_file.unlink(missing_ok=True)
    flush_to_disk([home.root])
    (fresh.root / PLAN).unlink()
