"""Decides how much idle work may run now, from the battery and the processor load of other
programs."""

import asyncio
import logging
from enum import IntEnum
from typing import Any

import psutil

from assistant.settings import Idle

logger = logging.getLogger(__name__)

MEASURED_S = 0.5
"""Seconds for which the processor load is measured. The system's load average is not used, because
it includes this program's own work of the last minute."""


class WorkAllowed(IntEnum):
    """How much work is allowed. Greater values allow more."""

    NOTHING = 0
    LIGHT = 1
    ALL = 2


class LoadPolicy:
    """Applies the user's limits for battery and processor load."""

    def __init__(self, settings: Idle) -> None:
        self._settings = settings

    async def allowed(self) -> WorkAllowed:
        """Measure the load, and return how much work is allowed. This takes half a second, during
        which this program should be idle."""
        on_battery, max_load = self._settings.on_battery, self._settings.max_load
        if on_battery != "all" and await asyncio.to_thread(runs_on_battery):
            return WorkAllowed.LIGHT if on_battery == "light" else WorkAllowed.NOTHING
        # Light work disturbs nobody, even on a busy machine.
        busy = max_load < 1 and await _load() > max_load
        return WorkAllowed.LIGHT if busy else WorkAllowed.ALL


async def _load() -> float:
    """Return the fraction of all cores in use, in [0, 1]; 0 if unknown."""
    before = await asyncio.to_thread(processor_seconds)
    await asyncio.sleep(MEASURED_S)
    after = await asyncio.to_thread(processor_seconds)
    if before is None or after is None or after[1] <= before[1]:
        return 0.0
    return 1 - (after[0] - before[0]) / (after[1] - before[1])


def runs_on_battery() -> bool:
    """Return whether the machine runs on battery; False if it has none, or the state is unknown."""
    try:
        battery = psutil.sensors_battery()
    except (OSError, AttributeError, NotImplementedError) as error:  # not supported everywhere
        logger.debug("the battery's state is unknown: %s", type(error).__name__)
        return False
    return battery is not None and battery.power_plugged is False


def processor_seconds() -> tuple[float, float] | None:
    """Return the idle and the total processor time since the machine started, in seconds summed
    over all cores. Return None if it is unknown."""
    try:
        times: Any = psutil.cpu_times()
    except (OSError, NotImplementedError) as error:
        logger.debug("the processor's load is unknown: %s", type(error).__name__)
        return None
    # Linux counts guest time twice. A core that waits for a disk is free for other work.
    twice = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return times.idle + getattr(times, "iowait", 0.0), sum(times) - twice
