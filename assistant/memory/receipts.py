"""What was looked through after each purge, kept without a word of what was forgotten."""

import json
import logging
import os
from pathlib import Path
from typing import Any

from assistant.errors import StoreError
from assistant.memory.proof import Receipt
from assistant.paths import Home

logger = logging.getLogger(__name__)

MOST = 1_000
"""The newest are kept."""


def keep(root: Path, receipt: Receipt) -> None:
    """Add one to those of a home.

    Raises:
        StoreError: it can't be written.
    """
    path = Home(root).receipts
    rows = [*read(root)[-MOST + 1 :], receipt.as_json()]
    new = path.with_suffix(".new")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.writelines(f"{json.dumps(row)}\n" for row in rows)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        raise StoreError(
            f"The receipt of what was forgotten can't be written to {path}: {error.strerror}.",
            mend="Free some space; it is tried again.",
        ) from error


def read(root: Path) -> list[dict[str, Any]]:
    """All of a home, oldest first; none where there is no file.

    Raises:
        StoreError: it can't be read.
    """
    path = Home(root).receipts
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"The receipts {path} can't be read: {error.strerror}.") from error
    rows = []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except ValueError:
            logger.warning("a line of %s can't be read, and is dropped", path)
    return rows
