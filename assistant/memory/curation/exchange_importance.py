"""Rates exchanges by the memories made from them: what idle work derived, what is pinned, what is
used often, and what the user wants for good. Reads RAM only."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from assistant.context import Exchange
from assistant.errors import StoreError
from assistant.language.dialogue_acts import WISHED
from assistant.memory.records.memory import Memory, MemoryKind

PINNED = 1.0
WISH = 0.9
"""For an instruction that is meant to last, such as how to answer."""
USE = 0.1
"""For each prompt that contained it, up to `MOST_USES`."""
MOST_USES = 5
AS_SAID = 0.2
"""For having been said at all."""


class Index(Protocol):
    def outlines(self, exchanges: Collection[str]) -> Mapping[str, Memory]: ...


class Remembered(Protocol):
    @property
    def index(self) -> Index:
        """Raises StoreError: it is still loading."""
        ...


class ExchangeImportance:
    """Importance by exchange, in [0, 1]. A millisecond for a hundred."""

    def __init__(self, memory: Remembered) -> None:
        self._memory = memory

    def __call__(self, exchanges: Sequence[Exchange]) -> dict[str, float]:
        found = {each.id: WISH if _wishes(each) else 0.0 for each in exchanges}
        try:
            resting = self._memory.index.outlines(frozenset(found))
        except StoreError:  # not loaded yet: only the words count
            return found
        for memory in resting.values():
            weight = weight_of(memory)
            for source in memory.sources:
                if source in found:
                    found[source] = max(found[source], weight)
        return found


def weight_of(memory: Memory) -> float:
    """The importance that a memory gives to its exchange."""
    if memory.pinned:
        return PINNED
    if memory.kind is MemoryKind.SUMMARY:
        return 0.0
    own = AS_SAID if memory.kind is MemoryKind.EXCHANGE else memory.importance
    return min(PINNED, own + USE * min(memory.uses, MOST_USES))


def _wishes(exchange: Exchange) -> bool:
    return WISHED.match(exchange.user_text.strip()) is not None
