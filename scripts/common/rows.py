"""Reads JSON Lines files, reporting any error in one sentence, and writes them row by row."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assistant.errors import AssistantError


class InputUnusable(AssistantError, ValueError):
    """Input that a program can't use: a missing file, a file in the wrong form, an unknown name."""

    exit_code = 2


def read_rows(path: Path, *needed: str) -> list[dict[str, Any]]:
    """The objects in a JSON Lines file.

    Raises:
        InputUnusable: the file can't be read, or a line is not an object with the `needed` keys.
    """
    rows = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputUnusable(f"Line {number} of {path} is not JSON: {error}.") from error
        if not isinstance(row, dict):
            raise InputUnusable(f"Line {number} of {path} is not a JSON object.")
        for name in needed:
            if name not in row:
                raise InputUnusable(f"Line {number} of {path} has no `{name}`.")
        rows.append(row)
    return rows


def read_text(path: Path) -> str:
    """The text of a file. Raises InputUnusable: it can't be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputUnusable(f"{path} can't be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InputUnusable(f"{path} is not text.") from error


class Keep:
    """Writes each row to a file immediately, so that an interrupted run keeps its rows. Without a
    path, it does nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        if path is not None:
            path.write_text("", encoding="utf-8")

    def __call__(self, row: Mapping[str, Any]) -> None:
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
