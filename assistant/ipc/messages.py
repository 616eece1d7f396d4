"""The messages between processes: JSON objects, one per line."""

import json
from collections.abc import Mapping
from io import BufferedRWPair
from typing import Any

Request = Mapping[str, Any]
"""A request; its `act` says what is wanted."""
Row = dict[str, Any]
"""One JSON object of an answer, of a recording or of a child process's output."""
Stream = BufferedRWPair

LISTED = 20
"""Rows in a list if the request does not say how many."""
PATIENCE_S = 10.0
"""Seconds to wait for a request to arrive, and for each piece of the answer to be taken."""


def send_message(stream: Stream, value: Request) -> None:
    stream.write(json.dumps(value).encode("ascii") + b"\n")
    stream.flush()
