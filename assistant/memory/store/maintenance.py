"""Reads a whole table in order, and rewrites a whole table."""

from assistant.errors import StoreError
from assistant.memory.records.memory import Memory
from assistant.memory.store.table import MemoryTable

REWRITES = 5
"""Maximum number of attempts to rewrite a table. Each waits up to two seconds for a moment in which
nobody reads."""


def rewrite(table: MemoryTable) -> None:
    """Remove deleted rows from the files, and leave a single version of the table.

    Raises:
        StoreError: the table can't be written, or it was being read during every attempt. Call this
            again later.
    """
    for _ in range(REWRITES):
        if table.rewrite():
            return
    raise StoreError(
        "What you forgot has been deleted, but older versions that contain it are in use and can't"
        " be removed yet.",
        mend="This will be retried. To do it yourself later: assistant memory verify-forgotten"
        " --clean",
    )


def in_order(table: MemoryTable, user_id: str) -> list[Memory]:
    """Return all of a user's memories in the order in which they were said.

    Raises:
        StoreError: the table can't be read.
    """
    return [memory for batch in table.scan(user_id) for memory in batch.memories()]
