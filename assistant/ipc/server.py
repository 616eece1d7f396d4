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
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from assistant.errors import AssistantError, StoreError
from assistant.ipc.address import (
    TEMPORARY,
    UNIX,
    Address,
    clear_stale_address,
    folder_identity,
    write_address,
)
from assistant.ipc.client import connect
from assistant.ipc.messages import PATIENCE_S, Request, Row, Stream, send_message

logger = logging.getLogger(__name__)


LONGEST_PATH = 100
"""Bytes of a socket's path; the systems' limits are 104 and 108, with a zero at the end."""
LONGEST_REQUEST = 1 << 30
"""Bytes. An import travels in one line."""


class RequestServer:
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
        self._closing = False
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.chmod(0o700)
            clear_stale_address(folder)
            self._socket, address = self._unix() if unix else self._loopback()
            self._address = replace(address, folder=folder_identity(folder))
            self._socket.listen(8)
            write_address(folder / "address", self._address)
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
        if not self._closing:
            self._closing = True
            if visit := connect(self._address):  # closing a socket does not wake who waits at it
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

    def _unix(self) -> tuple[socket.socket, Address]:
        path = self._folder / "socket"
        if len(os.fsencode(path)) > LONGEST_PATH:
            self._temporary = Path(tempfile.mkdtemp(prefix=TEMPORARY))
            path = self._temporary / "socket"
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(str(path))
        path.chmod(0o600)
        return listening, Address(path=str(path))

    def _loopback(self) -> tuple[socket.socket, Address]:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.bind(("127.0.0.1", 0))
        return listening, Address(port=listening.getsockname()[1], secret=secrets.token_hex(32))

    def _listen(self) -> None:
        while True:
            try:
                visitor, _ = self._socket.accept()
            except OSError as error:
                logger.warning("the door can't be opened: %s", error)
                time.sleep(1.0)  # too many open files, mostly
                continue
            if self._closing:
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
                    send_message(stream, {"row": row})
            send_message(stream, {"done": True})
        except AssistantError as error:
            told = {"message": str(error), "mend": error.mend, "exit_code": error.exit_code}
            send_message(stream, {"error": told})
        except OSError:
            raise
        except Exception as error:  # the visitor is told, and the assistant goes on
            logger.exception("a request failed")
            told = {
                "message": f"The running assistant failed at this ({type(error).__name__}).",
                "mend": "Its log says more.",
                "exit_code": 70,
            }
            send_message(stream, {"error": told})

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
