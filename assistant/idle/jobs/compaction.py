"""Keeping the memories quick, before a turn has to bear it."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Protocol

FOLDED = 250
"""New memories that recall goes through one by one. Folding them takes 0.1 s where there are
100,000; the conversation itself does it at a thousand."""
IN_VAIN_S = 300.0
"""Until what could not be put in order is tried again."""
ALL = "all"


class Compactable(Protocol):
    """The long-term memory, as far as it gets untidy."""

    def untidy(self, unmerged: int) -> bool: ...

    async def tidy(self, unmerged: int) -> None: ...


class CompactionJob:
    """Folds what is new into the large index of words, and joins the store's many small writes. Its
    output is the order itself: it is missing when there is disorder. It goes first, since whatever
    else is done is slowed by that, and makes more of it."""

    kind = "tidy"
    priority = 10
    recurs = True
    light = True
    version = 1

    def __init__(self, memory: Compactable, clock: Callable[[], float] = time.monotonic) -> None:
        self._memory = memory
        self._clock = clock
        self._again = -math.inf
        """Not before this it is tried again: the last time was in vain."""

    async def missing(self, limit: int) -> Sequence[str]:
        wanted = self._memory.untidy(FOLDED) and self._clock() >= self._again
        return (ALL,)[:limit] if wanted else ()

    async def run(self, subjects: Sequence[str]) -> None:
        if subjects:
            await self._memory.tidy(FOLDED)
            if self._memory.untidy(FOLDED):  # a store that can only be read stays as it is
                self._again = self._clock() + IN_VAIN_S
