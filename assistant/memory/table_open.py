"""Opening the table: made if it is absent, brought up to date if it is older, refused if it is
newer or damaged."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from assistant.errors import StoreError
from assistant.memory import table_schema
from assistant.memory.table_errors import damaged

Table = Any
"""A LanceTable; its annotations lag behind what it returns."""

NAME = "memories"


def _tellings(table: Table) -> None:
    # When a memory was last told again, and that it is to be merged with no other.
    missing = table_schema.SINCE_2 - set(table.schema.names)
    if "refreshed" in missing:
        table.add_columns(table_schema.schema().field("refreshed"))
    if "separate" in missing:
        table.add_columns({"separate": "false"})


MIGRATIONS: Sequence[Callable[[Table], None]] = (_tellings,)
"""Each brings the table from its place in this list, counted from version 1, to the next. LanceDB
commits each step by itself, so a migration must bear being run again after a kill."""

STORAGE_OPTIONS = {
    "connect_timeout": "5s",
    "timeout": "30s",
    "client_max_retries": "2",
    "client_retry_timeout": "10",
}
"""Of an object store, unless others are given: its library would try for three minutes."""


def version() -> int:
    """Of the schema that this program writes."""
    return 1 + len(MIGRATIONS)


def open_table(db: Any, uri: str, folder: Path | None) -> Table:
    """The table, made if it is absent, brought up to date if it is older."""
    try:
        table = db.open_table(NAME)
    except ValueError as error:
        if "was not found" not in str(error):
            raise
        if folder is not None and any((folder / f"{NAME}.lance" / "data").glob("*")):
            raise damaged(uri) from error
        table = db.create_table(NAME, schema=table_schema.first_schema(), exist_ok=True)
    found = int((table.schema.field("id").metadata or {}).get(table_schema.SCHEMA_VERSION, b"1"))
    if found > version():
        raise StoreError(
            f"The memory {uri} was written by a newer version of this program.",
            mend="Update the program, or choose another folder with --home DIR.",
        )
    for number, migration in enumerate(MIGRATIONS[found - 1 :], start=found + 1):
        migration(table)
        table.update_field_metadata(
            {"path": "id", "metadata": {table_schema.SCHEMA_VERSION.decode(): str(number)}}
        )
    return table


def folder_of(uri: str) -> Path | None:
    """The folder that is meant; None for an object store."""
    if "://" not in uri:
        return Path(uri).expanduser().absolute()
    return Path(uri.removeprefix("file://")) if uri.startswith("file://") else None
