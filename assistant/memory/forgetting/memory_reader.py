"""Access to a user's memories for finding out what a request to forget means."""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from assistant.memory.forgetting.answer_origins import Everything
from assistant.memory.records.memory import Memory
from assistant.memory.retrieval.results import Recalled
from assistant.memory.store.maintenance import in_order
from assistant.memory.store.table import MemoryTable
from assistant.memory.user_memory import UserMemory


class MemoryReader(Protocol):
    """A user's memories. All calls block, and may raise StoreError."""

    def outlines(
        self, exchanges: Collection[str] | None = None, ids: Collection[str] = ()
    ) -> Everything:
        """Quick but incomplete memories: at least those based on these exchanges, and these
        memories; default: all."""

    def some(self, ids: Collection[str]) -> Collection[Memory]:
        """Those of these that exist and are not hidden."""

    def rows(self) -> Sequence[Memory]:
        """All memories in full, including hidden ones."""

    def find(self, topic: str, limit: int) -> Recalled:
        """Memories similar to a topic. Raises ModelError: there is no encoder."""


class LoadedMemories:
    """A running session's: outlines from RAM, rows from the table."""

    def __init__(self, memory: UserMemory) -> None:
        self._memory = memory

    def outlines(
        self, exchanges: Collection[str] | None = None, ids: Collection[str] = ()
    ) -> Everything:
        return self._memory.index.outlines(exchanges, ids)

    def some(self, ids: Collection[str]) -> Collection[Memory]:
        return self.outlines((), ids).values() if ids else ()

    def rows(self) -> Sequence[Memory]:
        self._memory.written()
        return in_order(self._memory.table, self._memory.user_id)

    def find(self, topic: str, limit: int) -> Recalled:
        return self._memory.find(topic, limit)


class EmptyMemories:
    """If nothing is remembered beyond the conversation."""

    def outlines(
        self, exchanges: Collection[str] | None = None, ids: Collection[str] = ()
    ) -> Everything:
        del exchanges, ids
        return {}

    def some(self, ids: Collection[str]) -> Collection[Memory]:
        del ids
        return ()

    def rows(self) -> Sequence[Memory]:
        return ()

    def find(self, topic: str, limit: int) -> Recalled:
        del topic, limit
        return Recalled()


class StoredMemories:
    """Used if no session is running for the user.

    Args:
        ready: loads the long-term memory, to search by meaning; may raise ModelError.
    """

    def __init__(self, user: str, table: MemoryTable, ready: Callable[[], UserMemory]) -> None:
        self._user = user
        self._table = table
        self._ready = ready

    def outlines(
        self, exchanges: Collection[str] | None = None, ids: Collection[str] = ()
    ) -> Everything:
        del exchanges, ids
        return {each.id: each for each in self.rows()}

    def some(self, ids: Collection[str]) -> Collection[Memory]:
        return self._table.get(self._user, list(ids))

    def rows(self) -> Sequence[Memory]:
        return in_order(self._table, self._user)

    def find(self, topic: str, limit: int) -> Recalled:
        return self._ready().find(topic, limit)
