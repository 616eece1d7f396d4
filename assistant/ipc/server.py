"""The server through which other processes of the same user reach a running assistant.

Only one process can have the memories open. So other processes send requests to the assistant. A
request is a line with one JSON object; its answer has one or more such lines. The connection is a
Unix socket in a folder that only its owner can enter. Windows lacks such sockets: there, the
connection is a loopback port, with a secret in a file that only its owner can read.

The file `door/address` in the home contains the address, and the identity of the folder `door`. So
if the home is copied while an assistant runs, the address in the copy is recognised as invalid. A
socket's path is limited to about 100 bytes. If the home's path is too long, the socket is put in a
temporary folder of its own.
"""

import asyncio
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
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import replace
from io import BufferedRWPair
from pathlib import Path
from typing import Any, TypeVar

from assistant.errors import AssistantError, StoreError
from assistant.ipc.address import (
    TEMPORARY,
    UNIX,
    Address,
    clear_stale_address,
    folder_identity,
    write_address,
)
from assistant.ipc.client import PATIENCE_S, Request, Row, connect, send_message

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
LONGEST_PATH = 100
"""Maximum number of bytes in a socket's path. Systems allow 104 or 108, including a final zero
byte."""
LONGEST_REQUEST = 1 << 30
"""Maximum number of bytes in a request. An import sends all of its data as one line."""


class RequestServer:
    """Listens for requests from construction until `close`. Requests are answered one after
    another.

    Args:
        folder: the folder for the address and the socket. It is made accessible only to its owner.
            No other server may be running there.
        answer: carries out a request, in one of the server's threads. May raise AssistantError.
        unix: whether to use a Unix socket instead of a port.

    Raises:
        StoreError: the folder can't be written, or no socket is available.
    """

    def __init__(
        self, folder: Path, answer: Callable[[Request], Iterator[Row]], *, unix: bool = UNIX
    ) -> None:
        self._folder = folder
        self._answer = answer
        self._temporary: Path | None = None
        self._one_by_one = threading.Lock()
        self._connections: set[socket.socket] = set()
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
                f"Commands can't reach this assistant: {error.strerror or error} ({folder})."
            ) from error
        self._thread = threading.Thread(target=self._listen, name="door", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening and close open connections. Idempotent."""
        with suppress(FileNotFoundError):
            (self._folder / "address").unlink()
        if not self._closing:
            self._closing = True
            # Closing a socket doesn't wake a waiting `accept`; a connection does.
            if last := connect(self._address):
                last.close()
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE_S)
        self._socket.close()
        if self._address.path is not None:
            with suppress(FileNotFoundError):
                Path(self._address.path).unlink()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    # -- internals ------------------------------------------------------------------------------

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
                connection, _ = self._socket.accept()
            except OSError as error:
                logger.warning("a connection can't be accepted: %s", error)
                time.sleep(1.0)  # usually too many open files
                continue
            if self._closing:
                connection.close()
                return
            self._connections.add(connection)
            threading.Thread(target=self._receive, args=(connection,), daemon=True).start()

    def _receive(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(PATIENCE_S)
            with connection, connection.makefile("rwb") as stream:
                self._serve(stream)
        except OSError as error:
            logger.info("a client disconnected: %s", error)
        finally:
            self._connections.discard(connection)

    def _serve(self, stream: BufferedRWPair) -> None:
        try:
            request = self._read(stream)
            with self._one_by_one:
                for row in self._answer(request):
                    send_message(stream, {"row": row})
            send_message(stream, {"done": True})
        except AssistantError as error:
            self._refuse(stream, str(error), error.mend, error.exit_code)
        except OSError:
            raise
        except Exception as error:  # report it to the client, and go on
            logger.exception("a request failed")
            message = f"The running assistant failed ({type(error).__name__})."
            self._refuse(stream, message, "See its log for details.", 70)

    def _refuse(self, stream: BufferedRWPair, message: str, mend: str | None, code: int) -> None:
        error = {"message": message, "mend": mend, "exit_code": code}
        send_message(stream, {"error": error})

    def _read(self, stream: BufferedRWPair) -> Request:
        line = stream.readline(LONGEST_REQUEST)
        try:
            request = json.loads(line)
        except ValueError:
            request = None
        if not isinstance(request, dict):
            raise StoreError("The request can't be understood.")
        secret = request.pop("secret", "")
        if not hmac.compare_digest(str(secret).encode(), self._address.secret.encode()):
            raise StoreError("The request does not have the right secret.")
        return request


def run_on_loop(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Result]) -> Result:
    """Run the coroutine `work` on the event loop of a running assistant, and return its result.
    Blocks until the result is available, so call it from another thread. Raises the exceptions of
    `work`, and StoreError if the loop ends first."""
    ending = StoreError("The assistant is shutting down.", mend="Try again in a moment.")
    try:
        future = asyncio.run_coroutine_threadsafe(work, loop)
    except RuntimeError as error:  # the loop is closed
        work.close()
        raise ending from error
    try:
        return future.result()
    except CancelledError as error:
        raise ending from error
