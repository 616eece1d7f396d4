"""Writing memories to a file that is there whole, or not at all."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from assistant.errors import StoreError
from ui.console import print_json


def named(path: str) -> Path:
    """A file as a person types it. Raises StoreError: there is no such user's home."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise StoreError(f"There is no home for {path}.", mend="Name another file.") from error


def write(rows: Iterable[dict[str, Any]], file: Path) -> int:
    """One JSON object a line, readable by the owner alone; returns how many.

    Raises:
        StoreError: there is such a file, or it can't be written; nothing is left of it then.
    """
    fresh = file.with_name(f".{file.name}.new")
    count = 0
    try:
        if os.path.lexists(file):
            raise FileExistsError
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            for row in rows:
                print_json(row, stream)
                count += 1
        # Whoever made such a file meanwhile keeps it.
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        fresh.replace(file)
    except FileExistsError as error:
        raise StoreError(
            f"The file {file} is there already.", mend="Name another, or remove it."
        ) from error
    except OSError as error:
        raise StoreError(
            f"The file {file} can't be written: {error.strerror}.", mend="Name another file."
        ) from error
    finally:
        if os.path.lexists(fresh):
            fresh.unlink()
    return count
