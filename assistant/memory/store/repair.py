"""Opens the store, and recovers the readable part of a damaged one.

LanceDB may abort the whole process when it reads a damaged file. Therefore a marker file is written
before the store is read, and removed afterwards unless damage was found. If the marker exists when
the store is opened, a separate process reads the store first. If that process crashes or finds
damage, the folder is renamed ("set aside"), and whatever can be read is copied into a new one. The
rest is restored from the transcript. Until the copy is complete, a second marker file names the
renamed folder. If the program is killed before that, the next start repeats the copy, so that no
readable memory is lost.
"""

import json
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from assistant.errors import StoreDamaged, StoreError
from assistant.events import Notice, Severity
from assistant.ipc import Row
from assistant.memory.records.memory import Memory
from assistant.memory.records.serialization import from_json
from assistant.memory.store.location import StoreLocation
from assistant.memory.store.salvage import DAMAGED_EXIT, MARKED
from assistant.memory.store.table import MemoryTable

logger = logging.getLogger(__name__)


CRASHES = frozenset(
    -number for number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGILL, signal.SIGFPE)
) | {-getattr(signal, "SIGBUS", signal.SIGSEGV), -getattr(signal, "SIGTRAP", signal.SIGSEGV)}
"""Exit codes of a process that crashed. A process with another negative code may have been killed
from outside."""
UNREADABLE = CRASHES | {DAMAGED_EXIT}
ASIDE = "damaged-"
"""Part of the name of a folder that was set aside, between the original name and the time."""
SAVED_AT_ONCE = 5_000
"""Number of rows written at once."""


def open_store(place: StoreLocation, tell: Callable[[Notice], object]) -> MemoryTable:
    """Open the store. If the last process that read it crashed or found damage, check the store
    first. Blocking.

    Args:
        tell: receives a notice if the store was set aside.

    Raises:
        StoreError: the store can't be opened; see `MemoryTable.open`. StoreDamaged: it can be
            neither read nor set aside.
    """
    aside: Path | None = None
    if place.marker.exists() and not _bears_reading(place):
        aside = _set_aside(place)
    try:
        table = MemoryTable.open(
            place.uri,
            key=place.key,
            or_read=True,
            on_begun=place.marker.touch,
            on_proved=lambda: place.marker.unlink(missing_ok=True),
        )
    except StoreDamaged:
        place.marker.touch()
        if aside is not None or place.folder is None or _bears_reading(place):
            raise
        return open_store(place, tell)
    try:
        _bring_over(place, table, tell)
    except StoreError:
        table.close()
        raise
    return table


def saving_marker(folder: Path) -> Path:
    """Return the path of the file that lists the folders set aside but not yet recovered. Each line
    has one folder's name."""
    return folder.with_name(f"{folder.name}.saving")


# -- inside -------------------------------------------------------------------------------------


def _bring_over(place: StoreLocation, table: MemoryTable, tell: Callable[[Notice], object]) -> None:
    """Copy the readable memories of the folders that were set aside, oldest first. May be
    repeated."""
    if place.folder is None:
        return
    saving = saving_marker(place.folder)
    if not saving.exists():
        return
    for name in dict.fromkeys(saving.read_text("utf-8", "replace").splitlines()):
        aside = place.folder.parent / name
        if name.startswith(f"{place.folder.name}.{ASIDE}") and aside.is_dir():
            count = _saved(replace(place, uri=str(aside)), table)
            tell(_notice(place, aside, count))
    saving.unlink()


def _saved(aside: StoreLocation, table: MemoryTable) -> int:
    """Copy the readable memories and tombstones of one folder to the table; return the number of
    memories."""
    memories: list[Memory] = []
    for row in _read_in_child(aside, "save"):
        if isinstance(row.get(MARKED), list):
            marks = [(user, mark, said) for user, mark, said in row[MARKED]]
            table.forgotten.write(marks, finished=True)
        else:
            with suppress(TypeError, ValueError):  # damage must not block recovery
                memories.append(from_json(row))
    for start in range(0, len(memories), SAVED_AT_ONCE):
        table.put(memories[start : start + SAVED_AT_ONCE])
    return len(memories)


def _notice(place: StoreLocation, aside: Path, saved: int) -> Notice:
    could = f"{saved:,} memories could be recovered" if saved else "nothing could be recovered"
    return Notice(
        f"The memory store {place.uri} was damaged and has been set aside as {aside.name}: {could}."
        " What was said is restored from the transcript at the next start; everything else that you"
        " added, changed, pinned or rated is lost.",
        Severity.WARNING,
        mend="assistant memory rebuild, or assistant memory import FILE, if you have an export.",
    )


def _bears_reading(place: StoreLocation) -> bool:
    """Return whether a separate process can read the whole store without crashing or finding
    damage. A store that can't even be opened also counts as readable, because opening it later
    reports the error."""
    started = _child(place, "check")
    try:
        return started.wait() not in UNREADABLE
    finally:
        _end(started)


def _read_in_child(place: StoreLocation, how: str) -> Iterator[Row]:
    """Yield the rows that a separate process could read before it ended.

    Raises:
        StoreError: the process was killed from outside.
    """
    started = _child(place, how)
    try:
        for line in started.stdout or ():
            if line.endswith(b"\n"):
                yield json.loads(line)
        if started.wait() < 0 and started.returncode not in CRASHES:
            raise StoreError(
                f"The recovery of the damaged memory store {place.uri} was interrupted.",
                mend="Start the assistant again to continue.",
            )
    finally:
        _end(started)


def _child(place: StoreLocation, how: str) -> "subprocess.Popen[bytes]":
    child = subprocess.Popen(
        [sys.executable, "-m", "assistant.memory.store.salvage", how, place.uri],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE if how == "save" else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert child.stdin is not None
    with suppress(BrokenPipeError), child.stdin as pipe:  # the child may have exited
        pipe.write(place.key.secret if place.key is not None else b"")
    return child


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _set_aside(place: StoreLocation) -> Path:
    folder = place.folder
    if folder is None:
        place.marker.unlink(missing_ok=True)
        raise StoreDamaged(
            f"The memory store {place.uri} is damaged and can't be read.",
            mend="Restore it from a backup, or use another store: assistant config set"
            " memory.store URI",
        )
    aside = folder.with_name(f"{folder.name}.{ASIDE}{datetime.now(UTC):%Y%m%d-%H%M%S}")
    try:
        with saving_marker(folder).open("a", encoding="utf-8") as file:
            file.write(f"{aside.name}\n")
        folder.rename(aside)
    except OSError as error:
        raise StoreError(
            f"The damaged memory store {place.uri} can't be set aside: {error.strerror}.",
            mend=f"Move it away: mv '{folder}' '{aside}'",
        ) from error
    logger.error("the memory store %s can't be read and is set aside as %s", place.uri, aside.name)
    return aside
