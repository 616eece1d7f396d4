"""Recorded conversations. A recording is a file of JSON lines: a header, followed by events with
their times.

    {"recording": 1, "id": …, "began": …, "conversation": …, "key": …}
    {"at": "2026-11-22T…", "event": {"type": "TurnHeard", …}}

In an encrypted home, each line after the header is encrypted (AES-256-GCM, bound to its recording),
and `key` is the id of the key. All processes append to and rewrite recordings under one lock, so
that a purge also covers a recording in progress. Every line is complete, except that a crash may
cut off the last one.
"""

import json
import os
import secrets
import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from assistant.encryption import LineCipher, MasterKey
from assistant.errors import StoreError, StoreLocked
from assistant.events import Searched
from assistant.ipc import Row
from assistant.memory.records.data_location import FindsWords, RemovesWords
from assistant.memory.transcript.recorded_texts import texts_of
from assistant.paths import replacing

VERSION = 1
LOCK_S = 10.0
"""Seconds to wait for the lock. Purging long recordings takes a while."""
LONGEST_HEADER = 10_000
LISTED = "assistant replay"


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a recording. It is never encrypted, and contains no user text.
    `conversation` is the id of the recorded conversation. `key` is the id of the encryption key, or
    empty."""

    id: str
    began: str
    conversation: str = ""
    key: str = ""

    def line(self) -> str:
        row = {"recording": VERSION, "id": self.id, "began": self.began}
        return json.dumps(row | {"conversation": self.conversation, "key": self.key})


@dataclass(frozen=True, slots=True)
class Recording:
    """The contents of a recording. `damaged` is the number of unreadable lines, not counting one
    cut off at the end. `cut` is whether the last line was cut off."""

    header: Header
    rows: tuple[Row, ...]
    damaged: int = 0
    cut: bool = False


class Recordings:
    """The recordings in a home, and those that this process writes to other folders. Calls block.
    Thread-safe.

    Args:
        key: the key of an encrypted home.
    """

    def __init__(self, folder: Path, key: MasterKey | None = None) -> None:
        self.folder = folder
        self._key = key
        self._lock = threading.Lock()
        """Guards the attributes below. Never held while a file is used, so that nobody waits for
        the disk."""
        self._writing: dict[Path, Callable[[], None]] = {}
        """The recordings that have not ended, each with a function that waits for its events."""
        self._elsewhere: set[Path] = set()
        """Files outside the home that a purge rewrites."""
        self._owed: dict[Hashable, RemovesWords] = {}
        """What unsuccessful purges still have to remove. It is stored, because before they are
        repeated, recordings may end, and the words may be deleted from the transcript."""

    # -- writing --------------------------------------------------------------------------------

    def begin(self, conversation: str, path: Path | None = None) -> Path:
        """Create a recording, readable by its owner only; return its path.

        Args:
            path: where to create it; default: a file in the home, named after the current time.

        Raises:
            StoreError: the file exists already, or can't be written.
        """
        now = datetime.now(UTC)
        key = self._key.id if self._key is not None else ""
        header = Header(secrets.token_hex(8), now.isoformat(), conversation, key)
        path = self._free(now) if path is None else path.absolute()
        with self._locked(), _explained(path):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
                file.write(header.line() + "\n")
        with self._lock:
            self._writing[path] = lambda: None
            if path.parent != self.folder.absolute():
                self._elsewhere.add(path)
        return path

    def settle_with(self, path: Path, settle: Callable[[], None]) -> None:
        """Set a function that waits until the file contains all events so far, and raises
        StoreError if that takes too long. Every purge calls it until the recording ends."""
        with self._lock:
            self._writing[path] = settle

    def append(self, path: Path, rows: Iterable[Row]) -> None:
        """Append rows to a recording.

        Raises:
            StoreError: the file can't be written, or no longer exists.
        """
        with self._locked(), _explained(path), path.open("r+b") as file:
            header = _header(file.readline(), path)
            seal = LineCipher(header.id, self._key if header.key else None)
            file.seek(0, os.SEEK_END)
            # In one call, so that a killed process leaves only complete lines before the last one.
            file.write("".join(f"{seal.close(row)}\n" for row in rows).encode("utf-8", "replace"))

    def end(self, path: Path) -> None:
        """Mark a recording as ended. If its file is outside the home, the file is no longer
        searched or purged, because it now belongs to the user. Purges that began earlier still
        cover it, even if they must be repeated."""
        with self._lock:
            self._writing.pop(path, None)
            self._hand_over()

    def delete_turns(self, path: Path, turns: Collection[int]) -> None:
        """Remove the events of these turns.

        Raises:
            StoreError: the file can't be read or written.
        """
        with self._locked():
            found = self.read(path)
            rows = [row for row in found.rows if row["event"].get("turn") not in turns]
            self._write_anew(path, replace(found, rows=tuple(rows)), self._key)

    # -- reading --------------------------------------------------------------------------------

    def read(self, path: Path) -> Recording:
        """Read a recording.

        Raises:
            StoreLocked: the file is encrypted, and the key is missing or wrong.
            StoreError: the file can't be read, or is not a recording.
        """
        with _explained(path):
            content = path.read_bytes()
        first, *lines = content.split(b"\n")
        header = _header(first, path)
        if header.key and (self._key is None or header.key != self._key.id):
            what = "and there is no key" if self._key is None else "with another key"
            comma = "," if self._key is None else ""
            raise StoreLocked(
                f"The recording {path} is encrypted{comma} {what}.",
                mend="Name the data folder in which it was recorded: --home DIR",
            )
        seal = LineCipher(header.id, self._key if header.key else None)
        last = lines.pop() if lines else b""  # empty if the file is complete
        rows = [seal.open(line) for line in lines]
        tail = seal.open(last) if last else None
        good = tuple(row for row in (*rows, tail) if row is not None)
        cut = bool(last) or not content.endswith(b"\n")
        return Recording(header, good, sum(row is None for row in rows), cut)

    def paths(self) -> list[Path]:
        """Return the recordings in the home, oldest first."""
        return sorted(self.folder.glob("*.jsonl"))

    # -- as a `DataLocation` --------------------------------------------------------------------

    def words(
        self, user: str, exchanges: Collection[str], memories: Collection[str]
    ) -> tuple[list[str], list[str]]:
        """Return nothing, because words of exchanges and of idle work are also in the transcript or
        the memories."""
        del user, exchanges, memories
        return [], []

    def search(self, patterns: FindsWords) -> Iterator[Searched]:
        """Search the decrypted events of all recordings. Raises StoreError if a file can't be
        read."""
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
            yield "Recordings copied out of the data folder can't be searched."
        if foreign := self.foreign():
            which = "1 recording is" if foreign == 1 else f"{foreign:,} recordings are"
            yield f"{which} encrypted with another key and can't be searched."

    def foreign(self) -> int:
        """Return the number of recordings that are encrypted with another key."""
        found = 0
        for path in self.paths():
            try:
                self.read(path)
            except StoreLocked:
                found += 1
            except NotARecording:
                continue
        return found

    def purge(self, gone: RemovesWords) -> int:
        """Remove forgotten events and words; return the number of files from which something was
        removed. If the process is killed, each file is either unchanged or completely rewritten.
        May be repeated.

        Raises:
            StoreError: a file can't be read or written, or events are not on the disk yet.
        """
        if not self.folder.is_dir() and not self._elsewhere:
            return 0
        with self._lock:
            # The first purge of the same items had all their words; a repeated one may not.
            self._owed.setdefault((gone.user, gone.exchanges, gone.memories), gone)
            owed, writing = dict(self._owed), list(self._writing.values())
        for settle in writing:
            settle()
        changed = self._remove([gone, *(each for each in owed.values() if each is not gone)])
        with self._lock:
            self._owed = {key: each for key, each in self._owed.items() if key not in owed}
            self._hand_over()
        return changed

    def copy_to(self, folder: Path, new: MasterKey | None) -> None:
        """Copy all recordings to a folder, and encrypt the copies with the new key. Unreadable
        files are copied unchanged.

        Raises:
            StoreError: a file can't be read or written.
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

    def _remove(self, words: Collection[RemovesWords]) -> int:
        changed = 0
        with self._locked():
            for left in self.folder.glob("*.new"):  # from a killed process
                with _explained(left):
                    left.unlink()
            for path in self._known():
                recording = self._readable(path)
                if recording is None:
                    continue
                kept = recording.rows
                for gone in words:
                    rows = gone.without(recording.header.conversation, kept)
                    kept = kept if rows is None else tuple(rows)
                if kept is not recording.rows or recording.damaged or recording.cut:
                    self._write_anew(path, replace(recording, rows=kept), self._key)
                    changed += kept is not recording.rows
        return changed

    def _hand_over(self) -> None:
        """Leave the files outside the home to the user, except those still being written or
        purged."""
        if not self._owed:
            self._elsewhere.intersection_update(self._writing)

    def _known(self) -> list[Path]:
        with self._lock:
            elsewhere = sorted(self._elsewhere)
        return [*self.paths(), *(path for path in elsewhere if path.exists())]

    def _readable(self, path: Path) -> Recording | None:
        """Return the recording; None if the file is not a recording or is encrypted with another
        key. The raw bytes of such a file are still searched, as in every other file in the home."""
        try:
            return self.read(path)
        except (StoreLocked, NotARecording):
            return None

    def _write_anew(self, path: Path, recording: Recording, key: MasterKey | None) -> None:
        """Replace the contents of a file. The new contents are first written to a temporary file
        with a unique name, because a folder outside the home may contain the user's other
        files."""
        seal = LineCipher(recording.header.id, key if recording.header.key else None)
        fresh = path.with_name(f"{path.stem[:40]}-{secrets.token_hex(4)}.new")
        with _explained(path), replacing(path, fresh) as file:
            file.write(f"{recording.header.line()}\n".encode())
            for row in recording.rows:
                file.write(f"{seal.close(row)}\n".encode("utf-8", "replace"))

    def _free(self, now: datetime) -> Path:
        """Return an unused path in the home."""
        with _explained(self.folder):
            self.folder.mkdir(mode=0o700, exist_ok=True)
        stem = f"{now.astimezone():%Y-%m-%d_%H-%M-%S}"
        names = (f"{stem}{'' if n == 1 else f'-{n}'}.jsonl" for n in range(1, 1000))
        return next(path for name in names if not (path := self.folder / name).exists())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock. Raises StoreError if another process holds it for more than `LOCK_S`
        seconds."""
        with _explained(self.folder):
            self.folder.mkdir(mode=0o700, exist_ok=True)
            lock = FileLock(self.folder / ".lock", LOCK_S, mode=0o600)
        try:
            with lock:
                yield
        except Timeout as error:
            raise StoreError(
                f"The recordings in {self.folder} are in use by another program.",
                mend="Close the other program, and try again.",
            ) from error


def is_sealed(path: Path) -> bool:
    """Return whether a key is needed to read a recording.

    Raises:
        StoreError: the file can't be read, or is not a recording.
    """
    with _explained(path), path.open("rb") as file:
        first = file.readline(LONGEST_HEADER)
    return bool(_header(first, path).key)


class NotARecording(StoreError):
    """The file is not a recording."""


def _header(line: bytes, path: Path) -> Header:
    if not line.strip():
        raise NotARecording(f"The recording {path} is empty.", mend=LISTED)
    try:
        row = json.loads(line)
        version = row["recording"]
        header = Header(*(str(row[name]) for name in ("id", "began", "conversation", "key")))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise NotARecording(f"The file {path} is not a recording.", mend=LISTED) from error
    if version != VERSION:
        raise NotARecording(
            f"The recording {path} was made by a newer version of this program.",
            mend="Update the program.",
        )
    return header


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn the operating system's errors in this block into StoreError."""
    try:
        yield
    except FileNotFoundError as error:
        raise StoreError(f"There is no recording {path}.", mend=LISTED) from error
    except FileExistsError as error:
        raise StoreError(
            f"The file {path} already exists.", mend="Choose another name, or remove it."
        ) from error
    except OSError as error:
        raise StoreError(
            f"The recording {path} can't be read or written: {error.strerror}.",
            mend="Make its folder writable, or free some space.",
        ) from error
