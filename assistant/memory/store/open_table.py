"""Opens the memory table. A missing table is created, an older one is migrated, and a newer or
damaged one is refused."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from assistant.errors import StoreError, StoreInUse, StoreLocked
from assistant.memory.store import lance_schema
from assistant.memory.store.lance_errors import damaged
from assistant.memory.store.lance_import import import_lancedb
from assistant.memory.store.writer_lock import FolderLock, Lease, OnlyReading, WriterLock

Table = Any
"""A LanceTable. LanceDB's own type annotations are out of date."""

NAME = "memories"


def _tellings(table: Table) -> None:
    # `refreshed`: when a memory was last said again. `separate`: it must not be merged.
    missing = lance_schema.SINCE_2 - set(table.schema.names)
    if "refreshed" in missing:
        table.add_columns(lance_schema.schema().field("refreshed"))
    if "separate" in missing:
        table.add_columns({"separate": "false"})


MIGRATIONS: Sequence[Callable[[Table], None]] = (_tellings,)
"""The first function migrates a table from version 1 to 2, the second from 2 to 3, and so on.
LanceDB commits every step separately. So it must be possible to repeat an interrupted
migration."""

STORAGE_OPTIONS = {
    "connect_timeout": "5s",
    "timeout": "30s",
    "client_max_retries": "2",
    "client_retry_timeout": "10",
}
"""Default options for an object store. LanceDB's own defaults would retry for three minutes."""


def version() -> int:
    """Return the schema version that this program writes."""
    return 1 + len(MIGRATIONS)


def connect(uri: str, options: Mapping[str, str], *, or_read: bool) -> tuple[Any, WriterLock]:
    """Open the database, and lock it for writing. Imports LanceDB, which takes 0.2 s.

    Args:
        or_read: if another process writes to the object store, open it read-only instead of raising
            StoreInUse.

    Raises:
        StoreInUse: another process writes to the store.
        OSError, and LanceDB's own errors: the store can't be reached or written.
    """
    folder = folder_of(uri)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = FolderLock(folder)
        try:
            return import_lancedb().connect(folder), lock
        except BaseException:
            lock.release()
            raise
    lancedb = import_lancedb()
    options = STORAGE_OPTIONS | dict(options)
    db = lancedb.connect(uri, storage_options=options)
    try:
        return db, Lease.take(db, uri)
    except StoreInUse as refused:
        if not or_read:
            raise
        always = timedelta(0)
        db = lancedb.connect(uri, storage_options=options, read_consistency_interval=always)
        return db, OnlyReading(refused)


def open_to_read(db: Any, uri: str, key_id: str = "") -> Table:
    """Open an existing table of the current version. Nothing is changed.

    Raises:
        StoreError: the table has another version, or is encrypted with another key.
    """
    table = db.open_table(NAME)
    _check_key(table, uri, key_id, mark=False)
    if _checked_version(table, uri) < version():
        raise StoreError(f"The memory store {uri} was written by an older version of this program.")
    return table


def open_table(db: Any, uri: str, key_id: str = "") -> Table:
    """Open the table. Create it if it is missing, and migrate it if it has an older version.

    Args:
        key_id: the id of the key that encrypts texts and vectors; empty for an unencrypted table.

    Raises:
        StoreError: the table has a newer version, is damaged, or is encrypted with another key.
    """
    folder = folder_of(uri)
    try:
        table = db.open_table(NAME)
    except ValueError as error:
        if "was not found" not in str(error):
            raise
        if folder is not None and any((folder / f"{NAME}.lance" / "data").glob("*")):
            raise damaged(uri) from error
        table = db.create_table(NAME, schema=lance_schema.first_schema(), exist_ok=True)
    _check_key(table, uri, key_id, mark=True)
    found = _checked_version(table, uri)
    for number, migration in enumerate(MIGRATIONS[found - 1 :], start=found + 1):
        migration(table)
        table.update_field_metadata(
            {"path": "id", "metadata": {lance_schema.SCHEMA_VERSION.decode(): str(number)}}
        )
    return table


def _checked_version(table: Table, uri: str) -> int:
    """Return the schema version of the table. Raises StoreError if it is newer than this
    program's."""
    found = int((table.schema.field("id").metadata or {}).get(lance_schema.SCHEMA_VERSION, b"1"))
    if found > version():
        raise StoreError(
            f"The memory store {uri} was written by a newer version of this program.",
            mend="Update the program, or choose another folder with --home DIR.",
        )
    return found


def _check_key(table: Table, uri: str, key_id: str, *, mark: bool) -> None:
    """Check that the table is encrypted with exactly this key, or not at all if there is no key.

    Args:
        mark: if the table is empty and not encrypted yet, record this key in it.

    Raises:
        StoreLocked: the table is encrypted and the key is wrong or missing, or there is a key and
            the table is not encrypted.
    """
    marked = (table.schema.field("id").metadata or {}).get(lance_schema.KEY_ID, b"").decode()
    if marked == key_id:
        return
    if marked:
        what = "with another key" if key_id else "and there is no key"
        raise StoreLocked(
            f"The memory store {uri} is encrypted {what}; nothing was touched.",
            mend="Use the recovery key: assistant encryption recover",
        )
    if table.count_rows():
        raise StoreLocked(
            f"The memory store {uri} is not encrypted, though there is a key; nothing was touched.",
            mend="Move the key file encryption.json away, or restore the key file and the memories"
            " from the same backup.",
        )
    if mark:
        table.update_field_metadata(
            {"path": "id", "metadata": {lance_schema.KEY_ID.decode(): key_id}}
        )


def folder_of(uri: str) -> Path | None:
    """Return the folder that `uri` names; None for an object store."""
    if "://" not in uri:
        return Path(uri).expanduser().absolute()
    return Path(uri.removeprefix("file://")) if uri.startswith("file://") else None
