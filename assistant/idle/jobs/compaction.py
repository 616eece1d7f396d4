"""Keeps the memory fast, so that no turn has to wait for maintenance."""

import math
import time
from collections.abc import Callable, Sequence

from assistant.memory import UserMemory

FOLDED = 250
"""Number of new memories, scanned one by one in each recall, above which they are merged into the
index. Merging takes 0.1 s for 100,000 memories; during a conversation it happens only at a
thousand."""
IN_VAIN_S = 300.0
"""Seconds before another try at maintenance that had no effect."""
ALL = "all"


class CompactionJob:
    """Merges new memories into the large word index, and compacts the store's many small writes. It
    has no output of its own: it is "missing" whenever maintenance is needed. It runs first because
    other work is slower until it has run, and adds to its work."""

    kind = "tidy"
    priority = 10
    recurs = True
    light = True
    version = 1

    def __init__(self, memory: UserMemory, clock: Callable[[], float] = time.monotonic) -> None:
        self._memory = memory
        self._clock = clock
        self._again = -math.inf
        """Earliest time of the next try, if the last one had no effect."""

    async def missing(self, limit: int) -> Sequence[str]:
        wanted = self._memory.untidy(FOLDED) and self._clock() >= self._again
        return (ALL,)[:limit] if wanted else ()

    async def run(self, subjects: Sequence[str]) -> None:
        if subjects:
            await self._memory.tidy(FOLDED)
            if self._memory.untidy(FOLDED):  # a read-only store stays as it is
                self._again = self._clock() + IN_VAIN_S
