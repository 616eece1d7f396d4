"""What is done with a whole table: reading all of it in order, and writing it anew."""

from assistant.errors import StoreError
from assistant.memory.records.memory import Memory
from assistant.memory.store.table import MemoryTable

REWRITES = 5
"""Each waits two seconds for a moment in which nobody reads."""


def rewrite(table: MemoryTable) -> None:
    """Leave one version of the table, without what was deleted.

    Raises:
        StoreError: it could not be written, or somebody read all along. It can be called again.
    """
    for _ in range(REWRITES):
        if table.rewrite():
            return
    raise StoreError(
        "What was forgotten is out of the memory, but older versions of it are being read.",
        mend="It is tried again; or later: assistant memory verify-forgotten --clean",
    )


def in_order(table: MemoryTable, user_id: str) -> list[Memory]:
    """All of a user's memories, in the order in which they were said. Raises StoreError."""
    return [memory for batch in table.scan(user_id) for memory in batch.memories()]
