"""The paths of the assistant's files.

A *home* is the folder with everything that belongs to one person: settings, transcript, timings and
logs. Model files are not personal, so all homes share one cache of models.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from platformdirs import PlatformDirs

from assistant.errors import StoreError

APP_NAME = "local-voice-assistant"


@dataclass(frozen=True, slots=True)
class Home:
    """A person's data folder. The option `--home` names it; the default is `default_home`."""

    root: Path

    @property
    def settings_file(self) -> Path:
        return self.root / "settings.toml"

    @property
    def transcript(self) -> Path:
        """The SQLite file with what the user said and the parts of the answers that they heard."""
        return self.root / "transcript.sqlite3"

    @property
    def memories(self) -> Path:
        """The LanceDB folder with the long-term memories."""
        return self.root / "memories"

    @property
    def forms(self) -> Path:
        """The folder with the user's own forms, as TOML files."""
        return self.root / "forms"

    @property
    def recordings(self) -> Path:
        """The folder with recorded conversations, as JSON lines."""
        return self.root / "recordings"

    @property
    def key_file(self) -> Path:
        """The file with the wrapped key of the transcript and the memories. It doesn't exist if
        they aren't encrypted."""
        return self.root / "encryption.json"

    @property
    def door(self) -> Path:
        """The folder that tells commands how to reach the assistant running in this home."""
        return self.root / "door"

    @property
    def ledger(self) -> Path:
        """The timings of every turn, as JSON lines that contain no user text."""
        return self.root / "ledger.jsonl"

    @property
    def receipts(self) -> Path:
        """The records of what was searched after each purge, as JSON lines without user text."""
        return self.root / "receipts.jsonl"

    @property
    def log(self) -> Path:
        return self.root / "logs" / "assistant.log"

    @property
    def native_log(self) -> Path:
        """The log of what libraries write to file descriptors 1 and 2."""
        return self.root / "logs" / "native.log"

    def create(self) -> "Home":
        """Create the home and its log folder, readable only by their owner. Return this home.

        Raises:
            StoreError: a folder can't be created, or the home is read-only.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.log.parent.mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise StoreError(
                f"The data folder {self.root} can't be written: {error.strerror}.",
                mend="Choose another with --home DIR.",
            ) from error
        if not os.access(self.root, os.W_OK):
            raise StoreError(
                f"The data folder {self.root} is read-only.",
                mend="Choose another with --home DIR.",
            )
        return self


def default_home() -> Home:
    """Return the home that the environment variable `ASSISTANT_HOME` names, or else the home in the
    platform's user-data folder."""
    named = os.environ.get("ASSISTANT_HOME")
    if named:
        return Home(Path(named).expanduser())
    return Home(Path(PlatformDirs(APP_NAME, appauthor=False).user_data_path))


@contextmanager
def replacing(path: Path, fresh: Path | None = None, *, mode: int = 0o600) -> Iterator[BinaryIO]:
    """Replace the file at `path` completely or not at all. The block writes to a new file. When the
    block ends, the new file is flushed to disk and renamed to `path`. If the block raises, the old
    file remains.

    Args:
        fresh: the new file's path until it is renamed; default: `path` with the suffix `.new`. A
            killed process leaves this file behind, and the next write deletes it.
        mode: the new file's permissions.

    Raises:
        OSError: the file can't be written.
    """
    fresh = fresh or path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def flush_to_disk(paths: Iterable[Path]) -> None:
    """Flush files and folders to disk, so that they survive a power cut. Does nothing on
    Windows."""
    if sys.platform == "win32":  # folders can't be opened on Windows
        return
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def models_cache() -> Path:
    """Return the folder of models that all homes share. It is named by the environment variable
    `ASSISTANT_MODELS_CACHE`, or else is in the platform's cache folder."""
    named = os.environ.get("ASSISTANT_MODELS_CACHE")
    if named:
        return Path(named).expanduser()
    return Path(PlatformDirs(APP_NAME, appauthor=False).user_cache_path) / "models"


def compiled_code_cache() -> Path:
    """Return the cache folder for compiled code, which must not be written next to the program's
    source."""
    return Path(PlatformDirs(APP_NAME, appauthor=False).user_cache_path) / "compiled"
