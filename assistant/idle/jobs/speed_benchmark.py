"""Measures how fast the language model is on this machine, while nobody needs it.

The profile `default` chooses its model by the result. The speed during turns can't be used instead:
then the recogniser, the voice and the user's other programs compete for the processor.
"""

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from models.selection import Benchmark

AGAIN_S = 600.0
"""Seconds between two measurements, even if the first failed because the machine was too busy or
the result could not be written."""
LOOK_S = 300.0
"""Seconds between two checks whether a measurement is due; each reads some files."""


class SpeedBenchmarkJob:
    """Runs measurements. Its subjects are the catalogue's model names. A measurement made while the
    machine was busy is discarded.

    Args:
        clock: monotonic seconds.
    """

    kind = "measure"
    priority = 30
    recurs = True
    light = False
    version = 1

    def __init__(self, benchmark: Benchmark, clock: Callable[[], float] = time.monotonic) -> None:
        self._benchmark = benchmark
        self._clock = clock
        self._not_before = -math.inf

    async def missing(self, limit: int) -> Sequence[str]:
        if self._clock() < self._not_before:
            return ()
        model = await self._due()
        if model is None:
            self._not_before = self._clock() + LOOK_S
            return ()
        return (model,)[:limit]

    async def run(self, subjects: Sequence[str]) -> None:
        for subject in subjects:
            if subject == await self._due():
                await self._benchmark.run(subject)
                self._not_before = self._clock() + AGAIN_S

    async def _due(self) -> str | None:
        return await asyncio.to_thread(self._benchmark.due, datetime.now(UTC))
