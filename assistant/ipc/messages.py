"""What is sent between processes: JSON objects, one a line."""

import json
from collections.abc import Mapping
from io import BufferedRWPair
from typing import Any

Request = Mapping[str, Any]
"""What is asked, by its `act`."""
Row = dict[str, Any]
"""One JSON object of an answer, of a recording or of what a child process tells."""
Stream = BufferedRWPair

LISTED = 20
"""Rows of a list of which nobody says how long it is to be."""
PATIENCE_S = 10.0
"""For a request to arrive, and for each piece of the answer to be taken."""


def send_message(stream: Stream, value: Request) -> None:
    stream.write(json.dumps(value).encode("ascii") + b"\n")
    stream.flush()
