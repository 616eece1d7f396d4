"""Where files are stored.

One *home* holds everything that belongs to a person: settings, transcript, ledger, logs.
Model files are not personal: they are in one cache that all homes share.
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
    """A person's data folder (`--home`, else the platform's user-data folder)."""

    root: Path

    @property
    def settings_file(self) -> Path:
        return self.root / "settings.toml"

    @property
    def transcript(self) -> Path:
        """SQLite: what the user said, and what the user heard of the answers."""
        return self.root / "transcript.sqlite3"

    @property
    def memories(self) -> Path:
        """LanceDB: the long-term memories."""
        return self.root / "memories"

    @property
    def recordings(self) -> Path:
        """Recorded conversations, as JSON lines."""
        return self.root / "recordings"

    @property
    def key_file(self) -> Path:
        """The wrapped key of the transcript and the memories; absent if they aren't encrypted."""
        return self.root / "encryption.json"

    @property
    def door(self) -> Path:
        """The folder that tells commands how to reach the assistant running in this home."""
        return self.root / "door"

    @property
    def ledger(self) -> Path:
        """JSON lines: the timings of every turn, without words."""
        return self.root / "ledger.jsonl"

    @property
    def receipts(self) -> Path:
        """JSON lines: what was searched after each purge, without words."""
        return self.root / "receipts.jsonl"

    @property
    def log(self) -> Path:
        return self.root / "logs" / "assistant.log"

    @property
    def native_log(self) -> Path:
        """What libraries write to file descriptors 1 and 2."""
        return self.root / "logs" / "native.log"

    def create(self) -> "Home":
        """Create the folders, readable by their owner only.

        Raises:
            StoreError: the folder can't be created or written.
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
    """`ASSISTANT_HOME`, else the platform's user-data folder."""
    named = os.environ.get("ASSISTANT_HOME")
    if named:
        return Home(Path(named).expanduser())
    return Home(Path(PlatformDirs(APP_NAME, appauthor=False).user_data_path))


@contextmanager
def replacing(path: Path, fresh: Path | None = None, *, mode: int = 0o600) -> Iterator[BinaryIO]:
    """Write a file completely or not at all: the block writes a new file beside it, which is
    flushed to disk and replaces the old one when the block ends. If the block raises, the old one
    remains.

    Args:
        fresh: the new file's name; default: `path` with the suffix `.new`. A killed process leaves
            it behind; the next write replaces it.
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
    """Flush files and folders to disk, so that they survive a power cut."""
    if sys.platform == "win32":  # folders can't be opened on Windows
        return
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def models_cache() -> Path:
    """`ASSISTANT_MODELS_CACHE`, else the platform's cache folder; shared by all homes."""
    named = os.environ.get("ASSISTANT_MODELS_CACHE")
    if named:
        return Path(named).expanduser()
    return Path(PlatformDirs(APP_NAME, appauthor=False).user_cache_path) / "models"


def compiled_code_cache() -> Path:
    """Where compiled code is cached, so that nothing is written next to the program's source."""
    return Path(PlatformDirs(APP_NAME, appauthor=False).user_cache_path) / "compiled"
