"""Runs as a separate process that reads a whole store, because a damaged store may crash its
reader.

    python -m assistant.memory.store.salvage check URI
    python -m assistant.memory.store.salvage save URI

`check` reads everything and prints nothing. `save` writes the tombstones and every readable memory
to standard output, one JSON object per line.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from assistant.encryption import MasterKey
from assistant.errors import StoreDamaged, StoreError
from assistant.memory.records.memory import Memory
from assistant.memory.records.serialization import to_json
from assistant.memory.store.lance_schema import Batch, vector_fields
from assistant.memory.store.table import MemoryTable

FAILED_EXIT = 5
DAMAGED_EXIT = 6
MARKED = "forgotten"


def main(arguments: Sequence[str]) -> int:
    """Run a command; return the exit code. A damaged store may crash this process instead."""
    how, uri = arguments
    secret = sys.stdin.buffer.read()
    try:
        table = MemoryTable.open(uri, key=MasterKey(secret) if secret else None, or_read=True)
        try:
            read_everything(table) if how == "check" else dump(table)
        finally:
            table.close()
    except StoreDamaged:
        return DAMAGED_EXIT
    except StoreError:
        return FAILED_EXIT
    return 0


def read_everything(table: MemoryTable) -> None:
    """Read every column of every row."""
    for user in table.users():
        for batch in table.scan(user, vectors=tuple(table.encoders())):
            batch.memories()
            for encoder in vector_fields(batch.columns.schema):
                batch.vectors(encoder)


def dump(table: MemoryTable) -> None:
    """Print the tombstones, then all memories, user by user. If this process crashes, its parent
    uses what was printed before."""
    sys.stdout.write(f"{json.dumps({MARKED: table.forgotten.rows()})}\n")
    sys.stdout.flush()
    for user in table.users():
        with suppress(StoreDamaged):  # the rest of this scan is unreadable
            for batch in table.scan(user):
                for memory in _whole(batch):
                    sys.stdout.write(f"{json.dumps(to_json(memory))}\n")
                sys.stdout.flush()


def _whole(batch: Batch) -> Iterator[Memory]:
    """Return the readable memories of a batch."""
    try:
        yield from batch.memories()
    except StoreDamaged:
        for at in range(len(batch)):
            with suppress(StoreDamaged):
                yield from replace(batch, columns=batch.columns.slice(at, 1)).memories()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
