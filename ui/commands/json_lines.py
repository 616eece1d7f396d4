"""Reads the JSON Lines files that `export` commands write."""

import json
import sys
from pathlib import Path
from typing import Any

from assistant.errors import SettingsError, StoreError
from ui.commands.forget import STANDARD_STREAM


def read_rows(name: str) -> list[Any]:
    """Return the values in a JSON Lines file. The name `-` means standard input.

    Raises:
        SettingsError: a line is not JSON.
        StoreError: the file can't be read.
    """
    try:
        if name == STANDARD_STREAM:
            content = sys.stdin.buffer.read()
        else:
            content = Path(name).expanduser().read_bytes()
    except OSError as error:
        raise StoreError(
            f"The file {name} can't be read: {error.strerror}.", mend="Choose another file."
        ) from error
    rows = []
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            rows.append(json.loads(line.decode("utf-8")))
        except ValueError as error:
            raise SettingsError(
                f"Line {number} of {name} is not JSON. Nothing was imported.",
                mend="Correct the line, and import the file again.",
            ) from error
    return rows
