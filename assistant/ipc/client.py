"""Sends requests to a running assistant. Requests and answers are JSON objects, one per line."""

import json
import socket
from collections.abc import Iterator, Mapping
from io import BufferedRWPair
from pathlib import Path
from typing import Any

from assistant.errors import AssistantError, StoreError
from assistant.ipc.address import Address, read_address

Request = Mapping[str, Any]
"""A request. Its `act` names the requested action."""
Row = dict[str, Any]
"""A JSON object: one row of an answer, a recording or the output of a child process."""

NOT_SERVED: Row = {"event": "not-served"}
"""The only row of the answer to a request that the running assistant can't serve. The process that
sent the request may then carry it out itself."""
LISTED = 20
"""Maximum number of rows in a list, unless the request gives another number."""
PATIENCE_S = 10.0
"""Seconds to wait for a connection. The server waits equally long for the next bytes of a request,
and for a client to receive part of an answer."""


class RemoteError(AssistantError):
    """An error reported by an assistant in another process."""

    def __init__(self, message: str, mend: str | None, exit_code: int) -> None:
        super().__init__(message, mend=mend)
        self.exit_code = exit_code


def is_served(folder: Path) -> bool:
    """Return whether an assistant is running in this home and accepts requests."""
    address = read_address(folder / "address")
    connection = connect(address) if address is not None else None
    if connection is not None:
        connection.close()
    return connection is not None


def send_request(folder: Path, request: Request) -> Iterator[Row] | None:
    """Send a request to the assistant running in this home, and return the rows of its answer.
    Return None if no assistant runs there.

    Raises:
        RemoteError: the assistant reported an error.
        StoreError: the assistant ended, or the connection failed, before the answer was complete.
    """
    address = read_address(folder / "address")
    connection = connect(address) if address is not None else None
    if connection is None or address is None:
        return None
    return _answer(connection, {**request, "secret": address.secret})


def _answer(connection: socket.socket, request: Request) -> Iterator[Row]:
    ended = StoreError("The assistant ended before it answered.", mend="Try again.")
    try:
        with connection, connection.makefile("rwb") as stream:
            send_message(stream, request)
            for line in stream:
                answer = json.loads(line)
                if "row" in answer:
                    yield answer["row"]
                elif "error" in answer:
                    raise RemoteError(**answer["error"])
                else:
                    return
    except (OSError, ValueError) as error:
        raise ended from error
    raise ended


def connect(address: Address) -> socket.socket | None:
    """Open a connection. Return None if no process is listening."""
    family = socket.AF_UNIX if address.path is not None else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.settimeout(PATIENCE_S)
        place = address.path if address.path is not None else ("127.0.0.1", address.port)
        connection.connect(place)
        connection.settimeout(None)  # a rebuild is slow; the wait ends if the assistant dies
    except OSError:
        connection.close()
        return None
    return connection


def send_message(stream: BufferedRWPair, value: Request) -> None:
    stream.write(json.dumps(value).encode("ascii") + b"\n")
    stream.flush()
