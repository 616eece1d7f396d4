"""Write memories, or other rows, to a new file. If this fails, no file is created."""

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from assistant.errors import StoreError


def expanded_path(path: str) -> Path:
    """Return a path in which `~` or `~user` is replaced by the home folder.

    Raises:
        StoreError: that home folder can't be determined.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise StoreError(
            f"There is no home folder for {path}.", mend="Choose another file."
        ) from error


def write(rows: Iterable[dict[str, Any]], file: Path) -> int:
    """Write one JSON object per line to a new file that only its owner can read.

    Returns:
        The number of lines.

    Raises:
        StoreError: for the same reasons as in `write_lines`.
    """
    return write_lines((json.dumps(row, ensure_ascii=False) for row in rows), file)


def write_lines(lines: Iterable[str], file: Path) -> int:
    """Write lines to a new file that only its owner can read.

    Returns:
        The number of lines.

    Raises:
        StoreError: the file exists already or can't be written. No partial file is left behind.
    """
    count = 0
    fresh: Path | None = None
    try:
        if os.path.lexists(file):
            raise FileExistsError
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".new")
        fresh = Path(name)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            for line in lines:
                print(line, file=stream)
                count += 1
        _take_place(fresh, file)
    except FileExistsError as error:
        raise StoreError(
            f"The file {file} already exists.", mend="Choose another name, or remove it."
        ) from error
    except OSError as error:
        raise StoreError(
            f"The file {file} can't be written: {error.strerror}.", mend="Choose another file."
        ) from error
    finally:
        if fresh is not None:
            fresh.unlink(missing_ok=True)
    return count


def _take_place(fresh: Path, file: Path) -> None:
    """Rename the file `fresh` to `file`.

    Raises:
        FileExistsError: `file` exists by now.
        OSError: the file can't be renamed.
    """
    try:
        os.link(fresh, file)
        return
    except FileExistsError:
        raise
    except OSError:  # this file system doesn't support hard links
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        fresh.replace(file)
    except OSError:
        file.unlink()
        raise
