"""Stores a receipt after each purge: a record of what was searched, without any forgotten words."""

import json
import logging
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assistant.errors import StoreError
from assistant.events import Searched
from assistant.paths import Home, replacing

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of the search after a purge.

    `exchanges` and `memories` are the numbers of forgotten items. `unprovable` are sentences about
    what can't be proved.
    """

    at: datetime
    exchanges: int
    memories: int
    searched: tuple[Searched, ...]
    unprovable: tuple[str, ...]

    @property
    def clean(self) -> bool:
        return not any(each.found for each in self.searched)

    @property
    def places(self) -> str:
        """Names of the stores in which a trace was found."""
        return ", ".join(each.name for each in self.searched if each.found)

    @property
    def files(self) -> int:
        """Number of files searched in all stores."""
        return sum(each.files for each in self.searched)

    @property
    def bytes(self) -> int:
        """Number of bytes searched in all stores."""
        return sum(each.bytes for each in self.searched)

    def as_json(self) -> dict[str, Any]:
        """Return the receipt as JSON-compatible values."""
        plain = asdict(self)
        searched = [each | {"found": list(each["found"])} for each in plain["searched"]]
        return plain | {
            "at": self.at.astimezone(UTC).isoformat(timespec="seconds"),
            "searched": searched,
            "unprovable": list(self.unprovable),
            "files": self.files,
            "bytes": self.bytes,
            "clean": self.clean,
        }


@dataclass(frozen=True, slots=True)
class PurgeResult:
    """Ids of the deleted memories and exchanges, and the receipt of the search for them.

    `staying` are the ids of exchanges that were not deleted although a deleted memory was based on
    them.
    """

    memories: tuple[str, ...]
    exchanges: tuple[str, ...]
    staying: tuple[str, ...]
    receipt: Receipt


MOST = 1_000
"""Maximum number of receipts per home. The oldest are dropped."""


def keep(root: Path, receipt: Receipt) -> None:
    """Append a receipt to a home's receipts.

    Raises:
        StoreError: the receipts can't be read or written.
    """
    path = Home(root).receipts
    rows = [*read(root)[-MOST + 1 :], receipt.as_json()]
    try:
        with replacing(path) as file:
            file.writelines(f"{json.dumps(row)}\n".encode() for row in rows)
    except OSError as error:
        raise StoreError(
            f"The receipt of what was forgotten can't be written to {path}: {error.strerror}.",
            mend="Free some space; this will be retried.",
        ) from error


def read(root: Path) -> list[dict[str, Any]]:
    """Return all receipts of a home, oldest first; [] if there is no file.

    Raises:
        StoreError: the file can't be read.
    """
    path = Home(root).receipts
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"The file of receipts {path} can't be read: {error.strerror}.") from error
    rows = []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except ValueError:
            logger.warning("a line of %s can't be read and is dropped", path)
    return rows
