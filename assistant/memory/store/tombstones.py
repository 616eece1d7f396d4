"""What must not come back, as all who share a store know it: ids of forgotten exchanges and
memories, no words. Pure; `tombstone_table` keeps them."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from hashlib import sha256

from assistant.memory.records.ids import (
    OURS,
    own_exchange,
)
from assistant.memory.records.memory import Memory, MemoryKind

MARK = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}")


def mark_of(key: str) -> str:
    """An id as it may be kept for good: one that came with an import could hold words."""
    return key if OURS.fullmatch(key) else sha256(key.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class Tombstones:
    """Of one user. `unfinished` are those of both whose rows may still be in the table: who wrote
    them had not told yet that they are gone."""

    exchanges: frozenset[str] = frozenset()
    memories: frozenset[str] = frozenset()
    unfinished: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.exchanges) + len(self.memories)

    def covers(self, memory: Memory) -> bool:
        """Whether it was forgotten: it, what it quotes, or all that it rests on; of a summary, any
        of that."""
        own = own_exchange(memory)
        if own is not None and self._was_said(own):
            return True
        gone = any if memory.kind is MemoryKind.SUMMARY else all
        if memory.sources and gone(map(self._was_said, memory.sources)):
            return True
        return mark_of(memory.id) in self.memories

    def kept(self, memory: Memory) -> Memory | None:
        """The memory without what was forgotten of its sources; None where nothing is left of it.

        Of words that were told elsewhere too, that telling has a memory of its own.
        """
        if self.covers(memory):
            return None
        sources = tuple(source for source in memory.sources if not self._was_said(source))
        return memory if len(sources) == len(memory.sources) else replace(memory, sources=sources)

    def _was_said(self, exchange: str) -> bool:
        return mark_of(exchange) in self.exchanges


def to_mark(exchanges: Collection[str], gone: Iterable[Memory]) -> tuple[set[str], set[str]]:
    """The marks of exchanges and of memories that go with them; of the latter those that do not
    follow from the former."""
    said = frozenset(map(mark_of, exchanges))
    follow = Tombstones(said)
    return set(said), {mark_of(memory.id) for memory in gone if not follow.covers(memory)}
