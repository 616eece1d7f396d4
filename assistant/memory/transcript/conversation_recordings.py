"""Recorded conversations: JSON lines of events, each with its time.

    {"recording": 1, "id": …, "began": …, "conversation": …, "key": …}
    {"at": "2026-11-22T…", "event": {"type": "TurnHeard", …}}

In an encrypted home each line after the first is sealed (AES-256-GCM, bound to its recording), and
`key` names the key. Lines are added and files are written anew under one lock, by whatever process:
so what is purged is purged from what is being written too. A line is whole or, after a crash, the
last one.
"""

import json
import os
import secrets
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from assistant.encryption import LineCipher, MasterKey
from assistant.errors import StoreError, StoreLocked
from assistant.events import Searched
from assistant.ipc import Row
from assistant.memory.records.data_location import FindsWords, RemovesWords

FIXED = frozenset({"type", "phase", "severity"})
"""Fields whose values are the program's own words."""


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            if name not in FIXED:
                yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


VERSION = 1
LOCK_S = 10.0
"""A purge of long recordings takes some seconds."""
LONGEST_HEADER = 10_000
LISTED = "assistant replay"


@dataclass(frozen=True, slots=True)
class Header:
    """The first line; never encrypted, and without words. `key` is the id of the key that the rest
    is sealed with, "" where it is plain; `conversation` is the id of what was recorded."""

    id: str
    began: str
    conversation: str = ""
    key: str = ""

    def line(self) -> str:
        row = {"recording": VERSION, "id": self.id, "began": self.began}
        return json.dumps(row | {"conversation": self.conversation, "key": self.key})


@dataclass(frozen=True, slots=True)
class Recording:
    """What a file holds. `damaged` lines could not be read, one cut off at its end excepted."""

    header: Header
    rows: tuple[Row, ...]
    damaged: int = 0
    cut: bool = False


class Recordings:
    """Those of a home, and those that this process writes elsewhere. Calls block; thread-safe.

    Args:
        key: of an encrypted home.
    """

    def __init__(self, folder: Path, key: MasterKey | None = None) -> None:
        self.folder = folder
        self._key = key
        self._elsewhere: set[Path] = set()
        self.settle: Callable[[], None] = _nothing_waits
        """Returns when all that was to be written so far is; set by who writes."""

    # -- writing --------------------------------------------------------------------------------

    def begin(self, conversation: str, path: Path | None = None) -> Path:
        """Make a recording, readable by its owner alone; returns where it is.

        Args:
            path: default: one in the home, named by the time.

        Raises:
            StoreError: it is there already, or can't be written.
        """
        now = datetime.now(UTC)
        key = self._key.id if self._key is not None else ""
        header = Header(secrets.token_hex(8), now.isoformat(), conversation, key)
        path = self._free(now) if path is None else path.absolute()
        with self._locked(), _explained(path):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
                file.write(header.line() + "\n")
        if path.parent != self.folder.absolute():
            self._elsewhere.add(path)
        return path

    def append(self, path: Path, rows: Iterable[Row]) -> None:
        """
        Raises:
            StoreError: it can't be written, or is no longer there.
        """
        with self._locked(), _explained(path), path.open("r+b") as file:
            header = _header(file.readline(), path)
            seal = LineCipher(header.id, self._key if header.key else None)
            file.seek(0, os.SEEK_END)
            # In one call: a process that is killed leaves whole lines, or cuts the last one.
            file.write("".join(f"{seal.close(row)}\n" for row in rows).encode("utf-8", "replace"))

    def end(self, path: Path) -> None:
        """Nothing more comes. A recording elsewhere is its owner's from now on."""
        self._elsewhere.discard(path)

    def delete_turns(self, path: Path, turns: Collection[int]) -> None:
        """Take what was recorded of them out again. Raises StoreError."""
        with self._locked():
            found = self._read(path)
            rows = [row for row in found.rows if row["event"].get("turn") not in turns]
            self._write_anew(path, replace(found, rows=tuple(rows)), self._key)

    # -- reading --------------------------------------------------------------------------------

    def read(self, path: Path) -> Recording:
        """
        Raises:
            StoreLocked: it is encrypted, and there is no key or not the right one.
            StoreError: it can't be read, or is no recording.
        """
        return self._read(path)

    def paths(self) -> list[Path]:
        """Of the home, oldest first."""
        return sorted(self.folder.glob("*.jsonl"))

    # -- as a `DataLocation` --------------------------------------------------------------------

    def words(self, user: str, exchanges: Collection[str]) -> tuple[list[str], list[str]]:
        """None: all that is told here is the transcript's and the memories'."""
        del user, exchanges
        return [], []

    def search(self, patterns: FindsWords) -> Iterator[Searched]:
        """Their events, decrypted. Raises StoreError: one can't be read."""
        if not self.folder.is_dir():
            return
        count, size, found = 0, 0, []
        with self._locked():
            for path in self._known():
                recording = self._readable(path)
                if recording is None:
                    continue
                texts = [text for row in recording.rows for text in texts_of(row)]
                count, size = count + 1, size + sum(map(len, texts))
                if patterns.found_in_text(texts):
                    found.append(f"recordings/{path.name}")
        if count:
            yield Searched("recordings", versions=count, bytes=size, found=tuple(found))

    def limits(self) -> Iterator[str]:
        if self.paths():
            yield "Recordings that were copied out of the data folder can't be searched."
        if foreign := self.foreign():
            which = "1 recording is" if foreign == 1 else f"{foreign:,} recordings are"
            yield f"{which} encrypted with another key, and can't be searched."

    def foreign(self) -> int:
        """Those that no key here opens."""
        return sum(1 for path in self.paths() if self._is_locked(path))

    def purge(self, gone: RemovesWords) -> int:
        """Take out what is gone; returns how many files were written anew. Each is, whenever the
        process is killed, the old or the new one. It can be called again.

        Raises:
            StoreError: one can't be read or written.
        """
        if not self.folder.is_dir() and not self._elsewhere:
            return 0
        self.settle()
        changed = 0
        with self._locked():
            for left in self.folder.glob("*.new"):  # by one who was killed
                with _explained(left):
                    left.unlink()
            for path in self._known():
                recording = self._readable(path)
                if recording is None:
                    continue
                rows = gone.without(recording.header.conversation, recording.rows)
                if rows is not None or recording.damaged or recording.cut:
                    kept = recording.rows if rows is None else tuple(rows)
                    self._write_anew(path, replace(recording, rows=kept), self._key)
                    changed += rows is not None
        return changed

    def copy_to(self, folder: Path, new: MasterKey | None) -> None:
        """All that can be read, under another key; what can't is copied as it is.

        Raises:
            StoreError: one can't be read or written.
        """
        if not self.folder.is_dir():
            return
        with self._locked(), _explained(folder):
            folder.mkdir(mode=0o700)
            for path in self.paths():
                recording = self._readable(path)
                target = folder / path.name
                if recording is None:
                    target.write_bytes(path.read_bytes())
                    target.chmod(0o600)
                    continue
                header = replace(recording.header, key=new.id if new is not None else "")
                self._write_anew(target, replace(recording, header=header), new)

    # -- inside ---------------------------------------------------------------------------------

    def _known(self) -> list[Path]:
        return [*self.paths(), *sorted(path for path in self._elsewhere if path.exists())]

    def _readable(self, path: Path) -> Recording | None:
        """None of a file that is no recording, or that no key here opens: it is searched as it
        is, as every file."""
        try:
            return self._read(path)
        except StoreLocked:
            return None
        except NotARecording:
            return None

    def _is_locked(self, path: Path) -> bool:
        try:
            self._read(path)
        except StoreLocked:
            return True
        except NotARecording:
            return False
        return False

    def _read(self, path: Path) -> Recording:
        with _explained(path):
            content = path.read_bytes()
        if not content.strip():
            raise NotARecording(f"The recording {path} is empty.", mend=LISTED)
        first, *lines = content.split(b"\n")
        header = _header(first, path)
        if header.key and (self._key is None or header.key != self._key.id):
            what = "and there is no key" if self._key is None else "with another key"
            comma = "," if self._key is None else ""
            raise StoreLocked(
                f"The recording {path} is encrypted{comma} {what}.",
                mend="Name the data folder that it was made in: --home DIR",
            )
        seal = LineCipher(header.id, self._key if header.key else None)
        last = lines.pop() if lines else b""  # empty where the file is whole
        rows = [seal.open(line) for line in lines]
        tail = seal.open(last) if last else None
        good = tuple(row for row in (*rows, tail) if row is not None)
        cut = bool(last) or not content.endswith(b"\n")
        return Recording(header, good, sum(row is None for row in rows), cut)

    def _write_anew(self, path: Path, recording: Recording, key: MasterKey | None) -> None:
        """In one step, on the disk when it returns. Until then it has a name that nothing has: a
        folder outside the home holds what is its owner's."""
        seal = LineCipher(recording.header.id, key if recording.header.key else None)
        with _explained(path):
            descriptor, name = tempfile.mkstemp(".new", f"{path.stem[:40]}-", path.parent)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(f"{recording.header.line()}\n".encode())
                    for row in recording.rows:
                        file.write(f"{seal.close(row)}\n".encode("utf-8", "replace"))
                    file.flush()
                    os.fsync(file.fileno())
                Path(name).replace(path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise

    def _free(self, now: datetime) -> Path:
        """A name that nothing has yet."""
        with _explained(self.folder):
            self.folder.mkdir(mode=0o700, exist_ok=True)
        stem = f"{now.astimezone():%Y-%m-%d_%H-%M-%S}"
        names = (f"{stem}{'' if n == 1 else f'-{n}'}.jsonl" for n in range(1, 1000))
        return next(path for name in names if not (path := self.folder / name).exists())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Raises StoreError: somebody has it for long."""
        with _explained(self.folder):
            self.folder.mkdir(mode=0o700, exist_ok=True)
            lock = FileLock(self.folder / ".lock", LOCK_S, mode=0o600)
        try:
            with lock:
                yield
        except Timeout as error:
            raise StoreError(
                f"The recordings in {self.folder} are in use by another program.",
                mend="Close the other one, and try again.",
            ) from error


def is_sealed(path: Path) -> bool:
    """A key is needed to read it.

    Raises:
        StoreError: it can't be read, or is no recording.
    """
    with _explained(path), path.open("rb") as file:
        first = file.readline(LONGEST_HEADER)
    if not first.strip():
        raise NotARecording(f"The recording {path} is empty.", mend=LISTED)
    return bool(_header(first, path).key)


class NotARecording(StoreError):
    """The file is something else."""


def _nothing_waits() -> None:
    """Nobody records."""


def _header(line: bytes, path: Path) -> Header:
    try:
        row = json.loads(line)
        version = row["recording"]
        header = Header(*(str(row[name]) for name in ("id", "began", "conversation", "key")))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise NotARecording(f"The file {path} is no recorded conversation.", mend=LISTED) from error
    if version != VERSION:
        raise NotARecording(
            f"The recording {path} was made by another version of this program.",
            mend="Update the program.",
        )
    return header


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """What the system refuses, as a sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise StoreError(f"There is no recording {path}.", mend=LISTED) from error
    except FileExistsError as error:
        raise StoreError(
            f"The file {path} is there already.", mend="Name another, or remove it."
        ) from error
    except OSError as error:
        raise StoreError(
            f"The recording {path} can't be read or written: {error.strerror}.",
            mend="Make its folder writable, or free some space.",
        ) from error


def texts_of(row: Row) -> list[str]:
    """Every text of an event that is not the program's own."""
    return list(_texts(row["event"]))
