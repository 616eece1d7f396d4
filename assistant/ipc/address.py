"""Reads and writes the file with the address of a running assistant."""

import json
import os
import shutil
import socket
import stat
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from assistant.paths import replacing

TEMPORARY = "assistant-door-"
UNIX = hasattr(socket, "AF_UNIX")


@dataclass(frozen=True, slots=True)
class Address:
    """The path of a Unix socket, or a port on this machine and the secret that requests must
    contain. `folder` is the device and inode of the folder that contains the address file."""

    path: str | None = None
    port: int = 0
    secret: str = ""
    folder: tuple[int, int] = (0, 0)


def write_address(file: Path, address: Address) -> None:
    """Write the address file atomically, readable only by its owner."""
    with replacing(file) as out:
        out.write(json.dumps(asdict(address)).encode())


def read_address(file: Path) -> Address | None:
    """Read the address file. Return None if the file is missing, can't be trusted, or was copied
    from another home."""
    try:
        address = Address(**json.loads(file.read_text(encoding="utf-8")))
        if tuple(address.folder) != folder_identity(file.parent):
            return None
    except (OSError, ValueError, TypeError):
        return None
    if address.path is None:
        return address
    return address if UNIX and _ours(Path(address.path).parent) else None


def folder_identity(folder: Path) -> tuple[int, int]:
    """Return the device and inode of a folder. Every other folder has different ones, even a
    copy."""
    found = folder.stat()
    return found.st_dev, found.st_ino


def _ours(folder: Path) -> bool:
    """Return whether only this user can create a socket in `folder`. If a temporary folder was
    deleted, another user may have created a new one with its name."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    mine = found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode)
    return mine and not found.st_mode & 0o077


def clear_stale_address(folder: Path) -> None:
    """Remove the address file and the sockets of an assistant that was killed."""
    left = read_address(folder / "address")
    if left is not None and left.path is not None:
        parent = Path(left.path).parent
        if parent.name.startswith(TEMPORARY) and parent.parent == Path(tempfile.gettempdir()):
            shutil.rmtree(parent, ignore_errors=True)
    (folder / "address").unlink(missing_ok=True)
    (folder / "socket").unlink(missing_ok=True)
