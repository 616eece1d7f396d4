"""Rewrites a table so that its files no longer contain deleted or replaced values. Also counts the
fragments that small writes leave.

LanceDB's compaction skips fragments with less than a tenth of their rows deleted, so the deleted
bytes would remain. Therefore all rows are copied into a new version in a single commit. Then every
file that belongs only to other versions is removed. If the process is killed before the commit, the
old version and an unreferenced file remain. If it is killed after the commit, the new version and
old files remain. In both cases, the next rewrite removes the files that are not needed.

On an object store, unreferenced files are removed too, even if another writer is about to refer to
one of them. The other writer's write then fails. Such a write can only have begun before the
rewrite, because the lease prevents other writers from starting new writes.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from math import isqrt
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
"""Number of rows in one batch of a scan: 12 MB with vectors of 384 dimensions."""
SUFFIX = ".lance"
UNFINISHED = ".tmp"
"""Prefix of the names of files that a killed write left behind."""
MOST_FRAGMENTS = 200
"""Number of fragments at which they are merged even during a conversation."""
IN_SILENCE = 16
"""Number of fragments at which a small table is merged between utterances. Merging a larger table
takes longer (0.1 s with 2,000 rows, seconds with 100,000), so it must have more fragments, up to
`MOST_FRAGMENTS`."""
TINY = timedelta(milliseconds=1)
"""Age above which old versions are removed. LanceDB logs a warning for smaller values."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the files of a table contain.

    `versions` is the number of versions that can be opened. `marked` is the number of deleted or
    replaced rows whose bytes may still be in a file. `spare` is the number of data files that the
    current version does not use; None on an object store, where files aren't listed.
    """

    versions: int
    marked: int
    spare: int | None

    @property
    def clean(self) -> bool:
        """Whether the table's files contain only the table's current rows."""
        return self.versions == 1 and not self.marked and not self.spare


class Fragments:
    """Counts a table's fragments. Each write adds a fragment, and each fragment slows every query
    by a third of a millisecond."""

    def __init__(self, table: Table) -> None:
        self.merged(table)
        self._count = int(table.stats()["fragment_stats"]["num_fragments"])

    def one_more(self) -> None:
        self._count += 1

    def merged(self, table: Table) -> None:
        """Reset the count. Call this when all fragments are about to be merged into one."""
        self._count = 0
        self._rows = int(table.count_rows())

    def many(self, *, in_silence: bool) -> bool:
        """Return whether there are enough fragments to merge them.

        Args:
            in_silence: whether nobody speaks; fewer fragments then suffice.
        """
        most = max(IN_SILENCE, isqrt(self._rows) // 3) if in_silence else MOST_FRAGMENTS
        return self._count >= min(most, MOST_FRAGMENTS)


def copy_over(table: Table) -> None:
    """Commit a new version with a copy of all stored rows. Nobody else may write meanwhile.

    Raises:
        StoreError: the copy differs from the original. The previous version has been restored.
    """
    before, rows, schema = int(table.version), int(table.count_rows()), table.schema
    if table.search().limit(1).to_arrow().num_rows:
        batches = table.search().to_batches(ROWS_AT_ONCE)
        table.add(batches, mode="overwrite", on_bad_vectors="null")
    else:
        table.add(schema.empty_table(), mode="overwrite")
    if table.count_rows() != rows or not table.schema.equals(schema, check_metadata=True):
        table.restore(before)
        raise StoreError("Rewriting the memories changed them; the old version was restored.")


def drop_old(table: Table, uri: str) -> None:
    """Delete all files except those of the newest version. Nobody may read or write meanwhile.

    The new files are flushed to disk first. Otherwise, after a power cut, the old files might be
    deleted and the new ones empty.
    """
    folder = table_folder(uri)
    if folder is not None:
        flush_to_disk([*folder.rglob("*"), folder])
        for path in list(folder.rglob(f"{UNFINISHED}*")):  # LanceDB doesn't delete these
            path.unlink()
    table.optimize(cleanup_older_than=TINY, delete_unverified=True)
    if folder is not None and len(table.list_versions()) > 1:
        # If a clock was set back, LanceDB mistakes old versions for new. Delete their manifests.
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
    """Yield all stored rows of all versions with their version numbers, newest first. Old versions
    that can't be read are skipped.

    Args:
        table: a table object that nobody else uses.
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
            # A killed clean-up deleted the version's files, but not its manifest.
            logger.info("version %d of the memories can't be read: %s", number, type(error))


def opened(batch: "pa.RecordBatch", seal: PlainRows) -> Iterator["pa.RecordBatch"]:
    """Yield the rows with decrypted texts, user by user."""
    import pyarrow.compute as pc

    for user in batch.column("user_id").unique().to_pylist():
        yield seal.open(batch.filter(pc.equal(batch.column("user_id"), user)), user)


def table_folder(uri: str) -> Path | None:
    """Return the folder that contains the table; None for an object store."""
    folder = folder_of(uri)
    return None if folder is None else folder / f"{NAME}{SUFFIX}"
