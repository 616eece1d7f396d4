"""A table written anew, so that no file of it holds what was deleted or changed.

Compaction leaves a fragment alone in which less than a tenth was deleted, and with it the bytes of
what is gone. So all rows are copied into a version of their own (which is how it counts: one
commit), and then whatever belongs to no other version is removed. A kill before the commit leaves
the old version and an unreferenced file, a kill after it the new one and old files: the next
rewrite removes either.

On an object store unreferenced files go too, though another writer might be about to refer to one:
a write that began before the rewrite fails on it, and the lease lets none begin.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.errors import StoreError
from assistant.memory.store.open_table import NAME, Table, folder_of
from assistant.memory.store.row_encryption import PlainRows
from assistant.paths import flush_to_disk

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)

ROWS_AT_ONCE = 8_192
"""In one batch of a scan: 12 MB with vectors of 384 dimensions."""
SUFFIX = ".lance"
UNFINISHED = ".tmp"
"""How the names of files begin that a killed write was at."""
TINY = timedelta(milliseconds=1)
"""LanceDB warns of anything less."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What a table consists of.

    `versions` are those that can be opened, `marked` rows that were deleted or replaced and whose
    bytes may be there, `spare` data files of no version that counts; None on an object store, whose
    files nobody lists.
    """

    versions: int
    marked: int
    spare: int | None

    @property
    def clean(self) -> bool:
        """Nothing but what the table shows is in its files."""
        return self.versions == 1 and not self.marked and not self.spare


def copy_over(table: Table) -> None:
    """A version of all rows as they are stored, sealed ones sealed; nobody may write meanwhile.

    Raises:
        StoreError: it did not come out as it went in; the version before counts again.
    """
    before, rows, schema = int(table.version), int(table.count_rows()), table.schema
    if table.search().limit(1).to_arrow().num_rows:
        batches = table.search().to_batches(ROWS_AT_ONCE)
        table.add(batches, mode="overwrite", on_bad_vectors="null")
    else:
        table.add(schema.empty_table(), mode="overwrite")
    if table.count_rows() != rows or not table.schema.equals(schema, check_metadata=True):
        table.restore(before)
        raise StoreError("The memories did not come out of the rewriting as they went in.")


def drop_old(table: Table, uri: str) -> None:
    """All files but those of the newest version; nobody may read or write meanwhile. What was just
    written is made to last first: a power cut must not find the old files gone and the new empty.
    """
    folder = table_folder(uri)
    if folder is not None:
        flush_to_disk([*folder.rglob("*"), folder])
        for path in list(folder.rglob(f"{UNFINISHED}*")):  # LanceDB leaves these alone
            path.unlink()
    table.optimize(cleanup_older_than=TINY, delete_unverified=True)
    if folder is not None and len(table.list_versions()) > 1:
        # A clock was set back: to LanceDB they are too young. Without its list a version is none.
        newest = folder / "_versions" / f"{2**64 - 1 - int(table.version):020}.manifest"
        for path in newest.parent.glob("*.manifest") if newest.exists() else ():
            if path != newest:
                path.unlink()
        table.optimize(cleanup_older_than=TINY, delete_unverified=True)


def layout(table: Table, uri: str) -> Layout:
    known = table.list_versions()
    newest = max(known, key=lambda each: int(each["version"]))["metadata"]
    folder, spare = table_folder(uri), None
    if folder is not None:
        files = sum(1 for path in (folder / "data").rglob("*") if path.is_file())
        spare = max(0, files - int(newest["total_data_files"]))
    return Layout(len(known), int(newest["total_deletion_file_rows"]), spare)


def versions(table: Table) -> Iterator[tuple[int, "pa.RecordBatch"]]:
    """All rows of all versions as they are stored, each with its version's number, the newest
    first; of a version that can't be read any more there are none.

    Args:
        table: a handle that nobody else uses.
    """
    numbers = sorted((int(each["version"]) for each in table.list_versions()), reverse=True)
    for number in numbers:
        try:
            table.checkout(number)
            for batch in table.search().to_batches(ROWS_AT_ONCE):
                yield number, batch
        except (OSError, RuntimeError, ValueError) as error:
            if number == numbers[0]:
                raise
            # Who dropped it was killed half-way: its files are gone, its name is not.
            logger.info("version %d of the memories can't be read: %s", number, type(error))


def opened(batch: "pa.RecordBatch", seal: PlainRows) -> Iterator["pa.RecordBatch"]:
    """Rows with their words readable, user by user."""
    import pyarrow.compute as pc

    for user in batch.column("user_id").unique().to_pylist():
        yield seal.open(batch.filter(pc.equal(batch.column("user_id"), user)), user)


def table_folder(uri: str) -> Path | None:
    """Where the files of the table are; None on an object store."""
    folder = folder_of(uri)
    return None if folder is None else folder / f"{NAME}{SUFFIX}"
