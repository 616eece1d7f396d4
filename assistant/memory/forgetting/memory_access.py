"""Gives requests to forget access to one user's memories, whether or not they are loaded."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from assistant.memory.forgetting.answer_origins import AnsweredTurn
from assistant.memory.records.memory import Memory
from assistant.memory.retrieval.results import Recalled
from assistant.memory.retrieval.user_profile import belongs_to_profile
from assistant.memory.store.maintenance import in_order
from assistant.memory.store.table import MemoryTable
from assistant.memory.user_memory import UserMemory

FOUND = 20
"""Number of similar memories to examine for a topic, besides those that contain the topic's
words.
"""


@dataclass(slots=True)
class MemoryAccess:
    """Access to one user's memories. All methods block, and may raise StoreError.

    Args:
        memory: the long-term memory, if it is loaded.
        table: the open table, if no session is running.
        load: loads the long-term memory to search by meaning, if no session is running. May raise
            ModelError.
        open_earlier: opens the memories of earlier sessions if the running session has no long-term
            memory. They are opened only for a purge.
        state: returns the entries of the user's state as memories, by id. They are not in the
            table.
    """

    user: str
    memory: UserMemory | None = None
    table: MemoryTable | None = None
    load: Callable[[], UserMemory] | None = None
    open_earlier: Callable[[], MemoryTable] | None = None
    state: Callable[[], Mapping[str, Memory]] = dict

    def outlines(
        self, exchanges: Collection[str] | None = None, ids: Collection[str] = ()
    ) -> Mapping[str, Memory]:
        """Return memories by id. This is quick, but some of their fields may not be set.

        The result contains at least the memories based on `exchanges` and those with these `ids`.
        If `exchanges` is None, it contains all memories.
        """
        found = (
            self.memory.index.outlines(exchanges, ids)
            if self.memory is not None
            else {each.id: each for each in self.rows()}
        )
        if exchanges is not None and not exchanges and not ids:
            return found
        state = self.state()
        if exchanges is not None:
            wanted, going = set(ids), set(exchanges)
            state = {
                key: each
                for key, each in state.items()
                if key in wanted or not going.isdisjoint(each.sources)
            }
        return {**found, **state}

    def around(self, turns: Sequence[AnsweredTurn]) -> Mapping[str, Memory]:
        """Return, by id, the memories based on these exchanges, the memories in their prompts, and
        other memories with the same sources."""
        keys = {turn.exchange.id for turn in turns}
        ids = {memory.id for turn in turns for memory in turn.used}
        first = self.outlines(keys, ids)
        sources = {source for memory in first.values() for source in memory.sources}
        return self.outlines(keys | sources, ids)

    def profile(self) -> Sequence[str]:
        """Return the ids of the notes that are in every prompt."""
        if self.memory is not None:
            return [each.id for each in self.memory.profile()]
        rows = (each for each in self.rows() if not (each.never_recall or each.superseded_by))
        return [each.id for each in rows if belongs_to_profile(each)]

    def some(self, ids: Collection[str]) -> Collection[Memory]:
        """Return the memories with these ids. Missing ones are left out; so are hidden ones if the
        long-term memory is loaded."""
        if self.table is not None:
            state = self.state().items()
            return [*self.table.get(self.user, list(ids)), *(m for k, m in state if k in ids)]
        return self.outlines((), ids).values() if ids else ()

    def rows(self) -> Sequence[Memory]:
        """Return all memories in full, including hidden ones."""
        if self.memory is not None:
            self.memory.written()
        table = self.memory.table if self.memory is not None else self.table
        return in_order(table, self.user) if table is not None else ()

    def find(self, topic: str) -> Recalled:
        """Search for memories similar to a topic.

        Raises:
            ModelError: no encoder is available.
        """
        memory = self.memory or (self.load() if self.load is not None else None)
        return memory.find(topic, FOUND) if memory is not None else Recalled()

    @contextmanager
    def purging(self) -> Iterator[MemoryTable | None]:
        """Provide the table to purge; None if there is none."""
        if self.memory is not None:
            yield self.memory.table
        elif self.open_earlier is not None:
            with closing(self.open_earlier()) as table:
                yield table
        else:
            yield self.table
