"""Access to one user's memories, loaded or not, for requests to forget."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from assistant.memory.records.memory import Memory
from assistant.memory.retrieval.results import Recalled
from assistant.memory.store.maintenance import in_order
from assistant.memory.store.table import MemoryTable
from assistant.memory.user_memory import UserMemory

FOUND = 20
"""Number of memories similar to a topic that are examined; memories with its words are found
anyway."""


@dataclass(slots=True)
class MemoryAccess:
    """All calls block, and may raise StoreError.

    Args:
        memory: the long-term memory, if it is loaded.
        table: the open table, if no session is running.
        load: loads the long-term memory to search by meaning, if no session is running; may raise
            ModelError.
        open_earlier: opens memories of earlier sessions, in a session that remembers nothing beyond
            the conversation. These memories are only purged.
    """

    user: str
    memory: UserMemory | None = None
    table: MemoryTable | None = None
    load: Callable[[], UserMemory] | None = None
    open_earlier: Callable[[], MemoryTable] | None = None

    def outlines(
        self, exchanges: Collection[str] | None = None, ids: Collection[str] = ()
    ) -> Mapping[str, Memory]:
        """Memories by id, quick to get but incomplete: at least those based on these exchanges and
        those with these ids; all by default."""
        if self.memory is not None:
            return self.memory.index.outlines(exchanges, ids)
        return {each.id: each for each in self.rows()}

    def some(self, ids: Collection[str]) -> Collection[Memory]:
        """The memories with these ids that exist and are not hidden."""
        if self.table is not None:
            return self.table.get(self.user, list(ids))
        return self.outlines((), ids).values() if ids else ()

    def rows(self) -> Sequence[Memory]:
        """All memories in full, including hidden ones."""
        if self.memory is not None:
            self.memory.written()
        table = self.memory.table if self.memory is not None else self.table
        return in_order(table, self.user) if table is not None else ()

    def find(self, topic: str) -> Recalled:
        """Memories similar to a topic. Raises ModelError if there is no encoder."""
        memory = self.memory or (self.load() if self.load is not None else None)
        return memory.find(topic, FOUND) if memory is not None else Recalled()

    @contextmanager
    def purging(self) -> Iterator[MemoryTable | None]:
        """The table to purge; None if there is none."""
        if self.memory is not None:
            yield self.memory.table
        elif self.open_earlier is not None:
            with closing(self.open_earlier()) as table:
                yield table
        else:
            yield self.table
