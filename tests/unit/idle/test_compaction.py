"""Compaction of the memories: due until they are compact, but not retried at once if it fails."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assistant.idle.jobs.compaction import ALL, IN_VAIN_S, CompactionJob


@dataclass
class Memories:
    """Memories that need two batches to become compact, unless they can't be written."""

    disorder: int = 2
    writable: bool = True

    def untidy(self, unmerged: int) -> bool:
        return self.disorder > 0

    async def tidy(self, unmerged: int) -> None:
        self.disorder -= self.writable


def job(memories: Memories, clock: Callable[[], float] = time.monotonic) -> CompactionJob:
    memory: Any = memories
    return CompactionJob(memory, clock)


async def test_compaction_is_due_until_the_memories_are_compact() -> None:
    memories = Memories(disorder=1)
    work = job(memories)

    assert await work.missing(9) == (ALL,)
    await work.run([ALL])

    assert await work.missing(9) == ()
    memories.disorder = 1
    assert await work.missing(9) == (ALL,)


async def test_compaction_without_effect_is_retried_later() -> None:
    now = [100.0]
    memories = Memories(disorder=1, writable=False)
    work = job(memories, lambda: now[0])

    await work.run([ALL])
    assert await work.missing(9) == ()

    now[0] += IN_VAIN_S
    memories.writable = True
    assert await work.missing(9) == (ALL,)
    await work.run([ALL])
    assert memories.disorder == 0
