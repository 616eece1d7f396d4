"""The ids of forgotten exchanges and memories, which must not come back. They contain no words.
`tombstone_table` stores them; this module is pure."""

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
    """An id in a form that may be stored for ever: imported ids, which could hold words, are
    hashed."""
    return key if OURS.fullmatch(key) else sha256(key.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class Tombstones:
    """One user's marks. `unfinished` contains those whose rows may still be in the table, because
    the purge has not recorded its end."""

    exchanges: frozenset[str] = frozenset()
    memories: frozenset[str] = frozenset()
    unfinished: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.exchanges) + len(self.memories)

    def covers(self, memory: Memory) -> bool:
        """Whether a memory is forgotten, because it was forgotten itself, or the exchange that it
        quotes, or all of its sources; of a summary's sources, one is enough."""
        own = own_exchange(memory)
        if own is not None and self._was_said(own):
            return True
        gone = any if memory.kind is MemoryKind.SUMMARY else all
        if memory.sources and gone(map(self._was_said, memory.sources)):
            return True
        return mark_of(memory.id) in self.memories

    def kept(self, memory: Memory) -> Memory | None:
        """The memory without forgotten sources; None if nothing is left.

        If the same words were also said in another exchange, that one has its own memory.
        """
        if self.covers(memory):
            return None
        sources = tuple(source for source in memory.sources if not self._was_said(source))
        return memory if len(sources) == len(memory.sources) else replace(memory, sources=sources)

    def _was_said(self, exchange: str) -> bool:
        return mark_of(exchange) in self.exchanges


def to_mark(exchanges: Collection[str], gone: Iterable[Memory]) -> tuple[set[str], set[str]]:
    """The marks of exchanges, and of those memories that the exchanges' marks don't cover."""
    said = frozenset(map(mark_of, exchanges))
    follow = Tombstones(said)
    return set(said), {mark_of(memory.id) for memory in gone if not follow.covers(memory)}
