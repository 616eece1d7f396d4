"""Encodes memories with the stronger encoder. Until a memory is encoded, recall uses the fast
encoder's vector."""

from collections.abc import Sequence
from math import ceil

from assistant.memory import UserMemory

IN_A_PART = 64
"""Number of memories per subject. Encoding them takes some seconds on one core."""
AT_ONCE = 8
"""Number of memories per write to the store."""
FEW = 32
"""Maximum number of memories that may be encoded on battery."""
OUTDATED = "outdated"


class EmbeddingJob:
    """Encodes memories that lack a vector, newest first. Afterwards, deletes the vectors of
    encoders that are no longer used. A subject is a number that stands for the next `IN_A_PART`
    memories without a vector. Memory ids are not used as subjects, because the id of an imported
    memory may contain user text."""

    kind = "embed"
    priority = 20
    recurs = False
    version = 1

    def __init__(self, memory: UserMemory) -> None:
        self._strengthening = memory.strengthening

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
