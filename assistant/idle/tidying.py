"""Keeping the memories quick, before a turn has to bear it."""

from collections.abc import Sequence
from typing import Protocol

FOLDED = 250
"""New memories that recall goes through one by one. Folding them takes 0.1 s where there are
100,000; the conversation itself does it at a thousand."""
ALL = "all"


class Tidied(Protocol):
    """The long-term memory, as far as it gets untidy."""

    def untidy(self, unmerged: int) -> bool: ...

    async def tidy(self, unmerged: int) -> None: ...


class Tidying:
    """Folds what is new into the large index of words, and joins the store's many small writes. Its
    output is the order itself: it is missing when there is disorder. It goes first, since whatever
    else is done is slowed by that, and makes more of it."""

    kind = "tidy"
    priority = 10
    recurs = True
    light = True
    version = 1

    def __init__(self, memory: Tidied) -> None:
        self._memory = memory

    async def missing(self, limit: int) -> Sequence[str]:
        return (ALL,)[:limit] if self._memory.untidy(FOLDED) else ()

    async def run(self, subjects: Sequence[str]) -> None:
        if subjects:
            await self._memory.tidy(FOLDED)
