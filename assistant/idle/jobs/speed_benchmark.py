"""Measures the speed of language models on this machine while the assistant is idle.

The profile `default` chooses its model by the result. The speed during turns would be misleading:
the recogniser, the voice and other programs then compete for the processor.
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
"""Seconds between two checks of whether a measurement is due. Each check reads some files."""


class SpeedBenchmarkJob:
    """Measures models. The subjects are names of models in the catalogue. A measurement is
    discarded if the machine was busy at the time.

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
