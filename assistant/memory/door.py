"""The door through which other processes of the same user reach a running assistant.

The assistant is the only one who has its memories open, so whoever wants them asks here. A request
is one JSON object on a line, the answer one or more; a Unix socket in a folder that only its owner
can enter, or, where there are none (Windows), a loopback port and a secret in a file that only its
owner can read.

`door/address` in the home says where to knock, and which folder it lies in: in a copy of the home,
made while an assistant ran, it leads to nobody, and not to the home that was copied. A socket's
path may have about 100 bytes: in a deeper home the socket lies in a temporary folder of its own.
"""

import hmac
import json
import logging
import os
import secrets
import shutil
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from io import BufferedRWPair
from pathlib import Path
from typing import Any

from assistant.errors import AssistantError, StoreError

logger = logging.getLogger(__name__)

Request = Mapping[str, Any]
Row = dict[str, Any]
Stream = BufferedRWPair

LONGEST_PATH = 100
"""Bytes of a socket's path; the systems' limits are 104 and 108, with a zero at the end."""
LONGEST_REQUEST = 1 << 30
"""Bytes. An import travels in one line."""
PATIENCE_S = 10.0
"""For a request to arrive, and for each piece of the answer to be taken."""
TEMPORARY = "assistant-door-"
UNIX = hasattr(socket, "AF_UNIX")


class Refused(AssistantError):
    """What the running assistant answered in place of doing what was asked."""

    def __init__(self, message: str, mend: str | None, exit_code: int) -> None:
        super().__init__(message, mend=mend)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class _Address:
    """One of both: the path of a socket, or a port of this machine and its secret. `folder` is the
    device and the number of the folder that the door is in."""

    path: str | None = None
    port: int = 0
    secret: str = ""
    folder: tuple[int, int] = (0, 0)


class Door:
    """Open from construction to `close`. Requests are carried out one after the other.

    Args:
        folder: made readable by its owner alone; nobody else may have a door open there.
        answer: carries out a request; in a thread of the door's own. May raise AssistantError.
        unix: by a Unix socket, not by a port.

    Raises:
        StoreError: the folder can't be written, or no socket can be had.
    """

    def __init__(
        self, folder: Path, answer: Callable[[Request], Iterator[Row]], *, unix: bool = UNIX
    ) -> None:
        self._folder = folder
        self._answer = answer
        self._temporary: Path | None = None
        self._one_by_one = threading.Lock()
        self._visitors: set[socket.socket] = set()
        self._closing = threading.Event()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.chmod(0o700)
            _clear(folder)
            self._socket, address = self._unix() if unix else self._loopback()
            self._address = replace(address, folder=_identity(folder))
            self._socket.listen(8)
            _write(folder / "address", self._address)
        except OSError as error:
            raise StoreError(
                f"The commands can't reach this assistant: {error.strerror or error} ({folder})."
            ) from error
        self._thread = threading.Thread(target=self._listen, name="door", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Idempotent. Who is inside is sent away."""
        with suppress(FileNotFoundError):
            (self._folder / "address").unlink()
        if not self._closing.is_set():
            self._closing.set()
            if visit := _knock(self._address):  # closing a socket does not wake who waits at it
                visit.close()
        for visitor in list(self._visitors):
            with suppress(OSError):
                visitor.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE_S)
        self._socket.close()
        if self._address.path is not None:
            with suppress(FileNotFoundError):
                Path(self._address.path).unlink()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    # -- inside ---------------------------------------------------------------------------------

    def _unix(self) -> tuple[socket.socket, _Address]:
        path = self._folder / "socket"
        if len(os.fsencode(path)) > LONGEST_PATH:
            self._temporary = Path(tempfile.mkdtemp(prefix=TEMPORARY))
            path = self._temporary / "socket"
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(str(path))
        path.chmod(0o600)
        return listening, _Address(path=str(path))

    def _loopback(self) -> tuple[socket.socket, _Address]:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.bind(("127.0.0.1", 0))
        return listening, _Address(port=listening.getsockname()[1], secret=secrets.token_hex(32))

    def _listen(self) -> None:
        while True:
            try:
                visitor, _ = self._socket.accept()
            except OSError as error:
                logger.warning("the door can't be opened: %s", error)
                time.sleep(1.0)  # too many open files, mostly
                continue
            if self._closing.is_set():
                visitor.close()
                return
            self._visitors.add(visitor)
            threading.Thread(target=self._receive, args=(visitor,), daemon=True).start()

    def _receive(self, visitor: socket.socket) -> None:
        try:
            visitor.settimeout(PATIENCE_S)
            with visitor, visitor.makefile("rwb") as stream:
                self._serve(stream)
        except OSError as error:
            logger.info("a visitor went away: %s", error)
        finally:
            self._visitors.discard(visitor)

    def _serve(self, stream: Stream) -> None:
        try:
            request = self._read(stream)
            with self._one_by_one:
                for row in self._answer(request):
                    _send(stream, {"row": row})
            _send(stream, {"done": True})
        except AssistantError as error:
            told = {"message": str(error), "mend": error.mend, "exit_code": error.exit_code}
            _send(stream, {"error": told})
        except OSError:
            raise
        except Exception as error:  # the visitor is told, and the assistant goes on
            logger.exception("a request failed")
            told = {
                "message": f"The running assistant failed at this ({type(error).__name__}).",
                "mend": "Its log says more.",
                "exit_code": 70,
            }
            _send(stream, {"error": told})

    def _read(self, stream: Stream) -> Request:
        line = stream.readline(LONGEST_REQUEST)
        try:
            request = json.loads(line)
        except ValueError:
            request = None
        if not isinstance(request, dict):
            raise StoreError("The request can't be understood.")
        secret = request.pop("secret", "")
        if not hmac.compare_digest(str(secret).encode(), self._address.secret.encode()):
            raise StoreError("The request does not know the secret.")
        return request


def ask(folder: Path, request: Request) -> Iterator[Row] | None:
    """What the assistant that runs in this home answers, or None if none runs there.

    Raises:
        Refused: the assistant's error, as it would have been raised here.
        StoreError: it ended, or fell silent, in the middle.
    """
    address = _read_address(folder / "address")
    visit = _knock(address) if address is not None else None
    if visit is None or address is None:
        return None
    return _converse(visit, {**request, "secret": address.secret})


def _converse(visit: socket.socket, request: Request) -> Iterator[Row]:
    gone = StoreError("The assistant ended before it had answered.", mend="Ask again.")
    try:
        with visit, visit.makefile("rwb") as stream:
            _send(stream, request)
            for line in stream:
                answer = json.loads(line)
                if "row" in answer:
                    yield answer["row"]
                elif "error" in answer:
                    raise Refused(**answer["error"])
                else:
                    return
    except (OSError, ValueError) as error:
        raise gone from error
    raise gone


def _knock(address: _Address) -> socket.socket | None:
    """A connection, or None where nobody is at home."""
    family = socket.AF_UNIX if address.path is not None else socket.AF_INET
    visit = socket.socket(family, socket.SOCK_STREAM)
    try:
        visit.settimeout(PATIENCE_S)
        visit.connect(address.path if address.path is not None else ("127.0.0.1", address.port))
        visit.settimeout(None)  # a rebuild takes its time; if the assistant dies, this ends
    except OSError:
        visit.close()
        return None
    return visit


def _send(stream: Stream, value: Request) -> None:
    stream.write(json.dumps(value).encode("ascii") + b"\n")
    stream.flush()


def _write(file: Path, address: _Address) -> None:
    """Whole or not at all, and never readable by others."""
    content = asdict(address)
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(content, stream)
    fresh.replace(file)


def _read_address(file: Path) -> _Address | None:
    """None where there is none, or none that is to be trusted, or only that of another home."""
    try:
        address = _Address(**json.loads(file.read_text(encoding="utf-8")))
        if tuple(address.folder) != _identity(file.parent):
            return None
    except (OSError, ValueError, TypeError):
        return None
    if address.path is None:
        return address
    return address if UNIX and _ours(Path(address.path).parent) else None


def _identity(folder: Path) -> tuple[int, int]:
    """Of no other folder, also not of a copy."""
    found = folder.stat()
    return found.st_dev, found.st_ino


def _ours(folder: Path) -> bool:
    """Nobody else can have put a socket there: a temporary folder that was cleared away might be
    somebody else's by now."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    mine = found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode)
    return mine and not found.st_mode & 0o077


def _clear(folder: Path) -> None:
    """Remove what an assistant left that was killed."""
    left = _read_address(folder / "address")
    if left is not None and left.path is not None:
        parent = Path(left.path).parent
        if parent.name.startswith(TEMPORARY) and parent.parent == Path(tempfile.gettempdir()):
            shutil.rmtree(parent, ignore_errors=True)
    (folder / "address").unlink(missing_ok=True)
    (folder / "socket").unlink(missing_ok=True)
