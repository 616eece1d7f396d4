"""What is remembered gets the stronger encoder's vectors: recall has the quick one's until then."""

from collections.abc import Sequence
from math import ceil
from typing import Protocol

IN_A_PART = 64
"""Memories of one subject: some seconds on one core."""
AT_ONCE = 8
"""Each time is a write."""
FEW = 32
"""So many may be done on battery."""
OUTDATED = "outdated"


class VectorBackfill(Protocol):
    """A long-term memory, as far as it has two encoders."""

    def missing(self) -> int: ...

    async def some(self, most: int) -> int: ...

    def rest(self) -> None: ...

    async def outdated(self) -> bool: ...

    async def drop_outdated(self) -> None: ...


class EmbeddingJob:
    """Encodes what lacks a vector, the newest first; when nothing does, the vectors of encoders
    that are chosen no more are dropped. The subjects are numbers of parts, whichever memories these
    are then: ids could be somebody's words, where they were imported."""

    kind = "embed"
    priority = 20
    recurs = False
    version = 1

    def __init__(self, strengthening: VectorBackfill) -> None:
        self._strengthening = strengthening

    @property
    def light(self) -> bool:
        return self._strengthening.missing() <= FEW

    async def missing(self, limit: int) -> Sequence[str]:
        lacking = self._strengthening.missing()
        if not lacking and await self._strengthening.outdated():
            return (OUTDATED,)[:limit]
        return [f"part {number}" for number in range(1, ceil(lacking / IN_A_PART) + 1)][:limit]

    async def run(self, subjects: Sequence[str]) -> None:
        try:
            for subject in subjects:
                if subject == OUTDATED:
                    await self._strengthening.drop_outdated()
                    continue
                for _ in range(IN_A_PART // AT_ONCE):
                    if not await self._strengthening.some(AT_ONCE):
                        break
        finally:
            self._strengthening.rest()
