"""The ids of forgotten exchanges and memories, which must not be created again. The ids contain no
user text. This module does no I/O; `tombstone_table` stores the ids."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from hashlib import sha256

from assistant.memory.records.ids import OURS, origin_of, own_exchange
from assistant.memory.records.memory import Memory, MemoryKind

MARK = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}")


def mark_of(key: str) -> str:
    """Return the mark of an id, i.e. a form that may be stored for ever. Imported ids could contain
    words, so they are hashed."""
    return key if OURS.fullmatch(key) else sha256(key.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class Tombstones:
    """The marks of one user. `unfinished` are the marks whose rows may still be in the table,
    because their purge has not been recorded as done."""

    exchanges: frozenset[str] = frozenset()
    memories: frozenset[str] = frozenset()
    unfinished: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.exchanges) + len(self.memories)

    def covers(self, memory: Memory) -> bool:
        """Return whether a memory counts as forgotten. It does if the memory itself, the exchange
        that it quotes, or all of its sources were forgotten. For a summary, one forgotten source is
        enough."""
        own = own_exchange(memory)
        if own is not None and self._was_said(own):
            return True
        gone = any if memory.kind is MemoryKind.SUMMARY else all
        if memory.sources and gone(map(self._was_said, memory.sources)):
            return True
        return mark_of(memory.id) in self.memories

    def has(self, memory_id: str) -> bool:
        """Return whether the memory with this id, or the exchange that the id is derived from, was
        forgotten. The memory need not exist any more."""
        return mark_of(memory_id) in self.memories or self._was_said(origin_of(memory_id))

    def kept(self, memory: Memory) -> Memory | None:
        """Return the memory without its forgotten sources; None if the memory counts as forgotten.

        Words that were also said in another exchange are not lost: the purge has created a memory
        of that exchange.
        """
        if self.covers(memory):
            return None
        sources = tuple(source for source in memory.sources if not self._was_said(source))
        return memory if len(sources) == len(memory.sources) else replace(memory, sources=sources)

    def _was_said(self, exchange: str) -> bool:
        return mark_of(exchange) in self.exchanges


def to_mark(exchanges: Collection[str], gone: Iterable[Memory]) -> tuple[set[str], set[str]]:
    """Return the marks of the exchanges, and the marks of the memories. Memories that count as
    forgotten because of these exchanges get no mark of their own."""
    said = frozenset(map(mark_of, exchanges))
    follow = Tombstones(said)
    return set(said), {mark_of(memory.id) for memory in gone if not follow.covers(memory)}
