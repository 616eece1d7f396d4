"""The interface of the sources of models, and the download of a model's files into a folder.

A file that is being downloaded already has its final name. It contains the first bytes of the
complete file. All sources have exactly the same files, so one source can resume a download that
another one began. A file is accepted if its size and SHA-256 match the catalogue.
"""

import hashlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from assistant.errors import ModelError
from models.catalogue import Model, ModelFile

BLOCK = 1 << 20
"""Number of bytes that are read and hashed at a time."""


class PullStopped(ModelError):
    """The caller stopped the download."""


class SourceFailed(Exception):
    """A source can't serve a model, but another source may. The message is a reason in the form of
    a clause, e.g. "it can't be reached"."""


@dataclass(frozen=True, slots=True)
class DownloadProgress:
    """The progress of a pull or check of one model. `done` and `total` are in bytes."""

    model: str
    doing: Literal["waiting", "downloading", "verifying", "preparing"]
    done: int
    total: int
    source: str = ""


Report = Callable[[DownloadProgress], None]


def silent(_step: DownloadProgress) -> None:
    """Ignore the progress. Used by callers that don't show it."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """The download of one model into `folder`. Progress is passed to `report`. The download stops
    when `stop` is set."""

    model: Model
    folder: Path
    report: Report = silent
    stop: threading.Event = field(default_factory=threading.Event)

    def path(self, name: str) -> Path:
        return self.folder.joinpath(*name.split("/"))

    def have(self, name: str) -> int:
        """Return the number of bytes of a file that have been written."""
        try:
            return self.path(name).stat().st_size
        except FileNotFoundError:
            return 0

    def have_all(self) -> int:
        return sum(self.have(file.name) for file in self.model.files)

    def check(self) -> None:
        """Raise PullStopped if `stop` is set."""
        if self.stop.is_set():
            raise PullStopped(
                f"The download of {self.model.title} was stopped.",
                mend=f"assistant models pull {self.model.name}",
            )

    def tell(self, source: str, unwritten: int = 0) -> None:
        """Report progress, and raise PullStopped if `stop` is set.

        Args:
            source: the name of the source.
            unwritten: number of bytes that have arrived but are not in a file yet.
        """
        self.check()
        made = self.model.files
        if self.model.archive and self.have(self.model.archive.name):
            made = self.model.piece_files
        total = sum(file.bytes for file in made)
        done = min(total, sum(self.have(file.name) for file in made) + unwritten)
        self.report(DownloadProgress(self.model.name, "downloading", done, total, source))

    @property
    def _credits(self) -> Path:
        return self.folder.parent / f"{self.folder.name}.served"

    def served(self) -> list[str]:
        """Return the names of the sources that served bytes of this model, including earlier,
        unfinished downloads."""
        return self._credits.read_text("utf-8").splitlines() if self._credits.exists() else []

    def credit(self, labels: Sequence[str]) -> None:
        """Store the names of the sources that served bytes of this model. An empty list deletes the
        stored names."""
        if labels:
            self._credits.write_text("\n".join(labels), "utf-8")
        else:
            self._credits.unlink(missing_ok=True)

    @contextmanager
    def append(self, name: str, offset: int, source: str) -> Iterator[BinaryIO]:
        """Open a file for writing at `offset`, and record that `source` serves bytes of it. Bytes
        after `offset` are deleted. On exit, the file is flushed to disk."""
        if source not in (served := self.served()):
            self.credit([*served, source])
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if path.exists() else "wb") as out:
            out.truncate(offset)
            out.seek(offset)
            yield out
            out.flush()
            os.fsync(out.fileno())

    def accept(self, file: ModelFile) -> bool:
        """Return whether a file is complete and its SHA-256 is correct. Delete a file that is
        complete but wrong."""
        have = self.have(file.name)
        if have < file.bytes:
            return False
        if have == file.bytes and sha256_of(self.path(file.name), self.check) == file.sha256:
            return True
        self.path(file.name).unlink()
        return False


class Source(Protocol):
    """A place from which models are downloaded."""

    @property
    def label(self) -> str:
        """The source's name, as shown to the user."""

    def serves(self, model: Model) -> bool:
        """Whether the catalogue lists this kind of source for the model."""

    def fetch(self, transfer: Transfer) -> None:
        """Download all missing files of a model. On return, all files are complete and verified.

        Raises:
            SourceFailed: this source can't serve the files. The next source can resume them.
            PullStopped: the caller stopped the download.
            OSError: the disk is full or unwritable.
        """


def sha256_of(path: Path, tick: Callable[[], object] = lambda: None) -> str:
    """Return the SHA-256 of a file in hexadecimal. `tick` is called after every `BLOCK` bytes."""
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            sha.update(block)
            tick()
    return sha.hexdigest()


def write_at_most(out: BinaryIO, blocks: Iterable[bytes], limit: int) -> bool:
    """Write blocks to `out`, but no more than `limit` bytes in total. Return False if the blocks
    contain more."""
    left = limit
    for block in blocks:
        out.write(block[:left])
        if len(block) > left:
            return False
        left -= len(block)
    return True


def run_quietly(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    tick: Callable[[], None],
) -> tuple[int, str]:
    """Run a program in `folder` and capture its output. Return its exit code and its output.

    `tick` is called a few times per second. If `tick` raises, the program is ended.
    """
    with tempfile.TemporaryFile() as caught:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=caught,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=folder,
        )
        try:
            while process.poll() is None:
                tick()
                try:
                    process.wait(0.2)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            if process.poll() is None:
                _end(process)
        caught.seek(0)
        return process.returncode, caught.read().decode(errors="replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(3)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
