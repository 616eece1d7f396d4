"""How the files of a model come into a folder, whatever the place they come from.

A file on its way has its final name and fewer bytes than the catalogue says; the bytes that are
there are a prefix of it. Sources carry the very same files, so what one began another goes on
with. A file counts only once its size and SHA-256 are the catalogue's.
"""

import hashlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from assistant.errors import ModelError
from models.catalogue import Model, ModelFile

BLOCK = 1 << 20
"""Bytes read, hashed and written at a time."""


class PullStopped(ModelError):
    """The caller asked for the end of a download."""


class SourceFailed(Exception):
    """This source can't serve; the next may. `str()` says why, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class DownloadProgress:
    """How far a model is. `done` and `total` are bytes."""

    model: str
    doing: Literal["waiting", "downloading", "verifying", "preparing"]
    done: int
    total: int
    source: str = ""


Report = Callable[[DownloadProgress], None]


def silent(_step: DownloadProgress) -> None:
    """For callers that don't show progress."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """One model on its way into `folder`: whom to tell, and when to stop."""

    model: Model
    folder: Path
    report: Report
    stop: threading.Event

    def path(self, name: str) -> Path:
        return self.folder.joinpath(*name.split("/"))

    def have(self, name: str) -> int:
        """Bytes of a file that are there."""
        try:
            return self.path(name).stat().st_size
        except FileNotFoundError:
            return 0

    def have_all(self) -> int:
        return sum(self.have(file.name) for file in self.model.files)

    def check(self) -> None:
        if self.stop.is_set():
            raise PullStopped(
                f"The download of {self.model.title} was stopped.",
                mend=f"assistant models pull {self.model.name}",
            )

    def tell(self, source: str, unwritten: int = 0) -> None:
        """Report the download; `unwritten` bytes have come but aren't in a file yet."""
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
        """Labels of the sources that bytes came from, in this run and in broken ones before."""
        return self._credits.read_text("utf-8").splitlines() if self._credits.exists() else []

    def credit(self, labels: Sequence[str]) -> None:
        """Set them; an empty list forgets them."""
        if labels:
            self._credits.write_text("\n".join(labels), "utf-8")
        else:
            self._credits.unlink(missing_ok=True)

    @contextmanager
    def append(self, name: str, offset: int, source: str) -> Iterator[BinaryIO]:
        """Open a file for `source` to write from `offset` on; what stood after it is cut off."""
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
        """True when the file is whole and right. One that is whole and wrong is deleted."""
        have = self.have(file.name)
        if have < file.bytes:
            return False
        if have == file.bytes and sha256_of(self.path(file.name), self.check) == file.sha256:
            return True
        self.path(file.name).unlink()
        return False


class Source(Protocol):
    """A place that models come from."""

    @property
    def label(self) -> str:
        """What to call it when telling the user who served."""

    def serves(self, model: Model) -> bool:
        """Whether the catalogue names this kind of source for the model."""

    def fetch(self, transfer: Transfer) -> None:
        """Bring every file that isn't there yet; all are whole and verified on return.

        Raises:
            SourceFailed: this source can't; the partial files stay for the next.
            PullStopped: the caller asked for it.
            OSError: the disk is full or unwritable.
        """


def sha256_of(path: Path, tick: Callable[[], object] = lambda: None) -> str:
    """SHA-256 of a file, in hexadecimal; `tick` is called every `BLOCK`."""
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            sha.update(block)
            tick()
    return sha.hexdigest()


def write_at_most(out: BinaryIO, blocks: Iterable[bytes], limit: int) -> bool:
    """Write blocks up to `limit` bytes in all; False when there was more."""
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
    """Run a program to its end with its output caught; returns its exit code and output.

    `tick` is called a few times a second; what it raises ends the program.
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
