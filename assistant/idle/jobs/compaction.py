"""Maintains the memory between turns, so that recall stays fast."""

import math
import time
from collections.abc import Callable, Sequence

from assistant.memory import UserMemory

FOLDED = 250
"""If there are more new memories than this, they are merged into the index. Until then, each recall
scans them one by one. Merging takes 0.1 s for 100,000 memories. During a conversation, they are
merged only if there are more than a thousand."""
IN_VAIN_S = 300.0
"""Seconds between a maintenance run without effect and the next attempt."""
ALL = "all"


class CompactionJob:
    """Merges new memories into the large word index, and compacts the store after many small
    writes. The job has no output: `missing` returns its only subject whenever maintenance is
    needed. It runs before other jobs, because they are faster afterwards. It recurs, because they
    create new work for it."""

    kind = "tidy"
    priority = 10
    recurs = True
    light = True
    version = 1

    def __init__(self, memory: UserMemory, clock: Callable[[], float] = time.monotonic) -> None:
        self._memory = memory
        self._clock = clock
        self._again = -math.inf
        """Earliest time of the next run, if the last one had no effect."""

    async def missing(self, limit: int) -> Sequence[str]:
        wanted = self._memory.untidy(FOLDED) and self._clock() >= self._again
        return (ALL,)[:limit] if wanted else ()

    async def run(self, subjects: Sequence[str]) -> None:
        if subjects:
            await self._memory.tidy(FOLDED)
            if self._memory.untidy(FOLDED):  # a read-only store stays as it is
                self._again = self._clock() + IN_VAIN_S
