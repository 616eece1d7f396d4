"""Operations on a whole table: reading it in order and rewriting it."""

from assistant.errors import StoreError
from assistant.memory.records.memory import Memory
from assistant.memory.store.table import MemoryTable

REWRITES = 5
"""Number of attempts; each waits up to two seconds for a moment without readers."""


def rewrite(table: MemoryTable) -> None:
    """Leave a single version of the table, without what was deleted.

    Raises:
        StoreError: the table could not be written, or was read all the time; call this again later.
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
    """All of a user's memories, in the order they were said. Raises StoreError."""
    return [memory for batch in table.scan(user_id) for memory in batch.memories()]
