"""Where the memories are kept, and opening them so that a damaged file ends nothing but a check.

LanceDB's libraries may abort the whole process on a damaged file. So a marker is written before the
store is read and removed afterwards; where one was left, a process of its own reads the store
first. If that dies, the folder is set aside under another name, and what could still be read of it
goes into a new one; what the transcript has is made anew from there.
"""

import json
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from assistant.errors import SettingsError, StoreDamaged, StoreError
from assistant.events import Notice, Severity
from assistant.memory.inspection import MARKED
from assistant.memory.keys import MasterKey
from assistant.memory.table import MemoryTable
from assistant.memory.table_open import folder_of
from assistant.paths import Home
from assistant.settings import Settings

logger = logging.getLogger(__name__)

Row = dict[str, Any]

CRASHES = frozenset(
    -number for number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGILL, signal.SIGFPE)
) | {-getattr(signal, "SIGBUS", signal.SIGSEGV), -getattr(signal, "SIGTRAP", signal.SIGSEGV)}
"""Exit codes of a process that ended itself; others may have been ended by anyone."""
SAVED_AT_ONCE = 5_000
"""Rows in one write."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a home's memories are.

    `uri` is a folder's path, or an object store's address without credentials. `marker` is there
    while the store is being read. `key` is that of an encrypted home.
    """

    uri: str
    marker: Path
    key: MasterKey | None = field(default=None, repr=False)

    @property
    def folder(self) -> Path | None:
        """None for an object store."""
        return folder_of(self.uri)


def place_of(home: Home, settings: Settings, key: MasterKey | None = None) -> Place:
    """Where the settings want them.

    Raises:
        SettingsError: the address holds credentials; it is not repeated.
    """
    marker = home.root / "memories.reading"
    named = settings.memory.store
    if not named:
        return Place(str(home.memories), marker, key)
    if "://" not in named:
        return Place(str(home.root / Path(named).expanduser()), marker, key)
    parts = urlsplit(named)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise SettingsError(
            "The setting `memory.store` holds more than an address: credentials belong into the"
            " environment.",
            mend="assistant config set memory.store s3://BUCKET/PATH, and set AWS_ACCESS_KEY_ID and"
            " AWS_SECRET_ACCESS_KEY.",
        )
    return Place(named, marker, key)


def open_place(place: Place, tell: Callable[[Notice], object]) -> MemoryTable:
    """Open the store; one that killed who read it is checked first. Blocking.

    Args:
        tell: told when the store was set aside.

    Raises:
        StoreError: as `MemoryTable.open`. StoreDamaged: it kills its reader, and can't be set
            aside.
    """
    saved: list[Row] = []
    marks: list[tuple[str, str, bool]] = []
    aside: Path | None = None
    if place.marker.exists() and not _bears_reading(place):
        for row in _read_in_child(place, "save"):
            if isinstance(row.get(MARKED), list):
                marks += [(user, mark, said) for user, mark, said in row[MARKED]]
            else:
                saved.append(row)
        aside = _set_aside(place)
    table = MemoryTable.open(
        place.uri,
        key=place.key,
        or_read=True,
        on_begun=place.marker.touch,
        on_proved=lambda: place.marker.unlink(missing_ok=True),
    )
    if aside is None:
        return table
    try:
        table.forgotten.write(marks, finished=True)
        for start in range(0, len(saved), SAVED_AT_ONCE):
            table.import_(saved[start : start + SAVED_AT_ONCE])
    except StoreError:
        table.close()
        raise
    tell(_told(place, aside, len(saved)))
    return table


# -- inside -------------------------------------------------------------------------------------


def _told(place: Place, aside: Path, saved: int) -> Notice:
    could = f"{saved:,} memories could still be read" if saved else "nothing could be read"
    return Notice(
        f"The memory {place.uri} was damaged and is set aside as {aside.name}: {could}, what was"
        " said comes back from the transcript, and what you added yourself beyond that is gone.",
        Severity.WARNING,
        mend="assistant memory import FILE, if you have an export.",
    )


def _bears_reading(place: Place) -> bool:
    """Whether a process that reads all of it lives on. What it can't open it can't read, and that
    is told by who opens it next."""
    started = _child(place, "check")
    try:
        return started.wait() not in CRASHES
    finally:
        _end(started)


def _read_in_child(place: Place, how: str) -> Iterator[Row]:
    """What a process could read before it died of it."""
    started = _child(place, how)
    try:
        for line in started.stdout or ():
            if line.endswith(b"\n"):
                yield json.loads(line)
    finally:
        _end(started)


def _child(place: Place, how: str) -> "subprocess.Popen[bytes]":
    child = subprocess.Popen(
        [sys.executable, "-m", "assistant.memory.inspection", how, place.uri],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE if how == "save" else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert child.stdin is not None
    with suppress(BrokenPipeError), child.stdin as pipe:  # it may have died already
        pipe.write(place.key.secret if place.key is not None else b"")
    return child


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _set_aside(place: Place) -> Path:
    folder = place.folder
    if folder is None:
        place.marker.unlink(missing_ok=True)
        raise StoreDamaged(
            f"The memory {place.uri} is damaged: it ends whoever reads it.",
            mend="Restore it from a copy, or name another: assistant config set memory.store URI",
        )
    aside = folder.with_name(f"{folder.name}.damaged-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    try:
        folder.rename(aside)
    except OSError as error:
        raise StoreError(
            f"The damaged memory {place.uri} can't be set aside: {error.strerror}.",
            mend=f"mv '{folder}' '{aside}'",
        ) from error
    logger.error("the memory %s killed its reader and is set aside as %s", place.uri, aside.name)
    return aside
