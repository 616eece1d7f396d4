"""Decides from the battery and the load of other programs how much idle work may be done now."""

import asyncio
import logging
from enum import IntEnum
from typing import Any

import psutil

from assistant.settings import Idle

logger = logging.getLogger(__name__)

MEASURED_S = 0.5
"""Seconds for which the processor's load is measured. The load average is not suitable: it includes
this program's own work of the last minute."""


class WorkAllowed(IntEnum):
    """How much work is allowed; a greater value allows more."""

    NOTHING = 0
    LIGHT = 1
    ALL = 2


class LoadPolicy:
    """Applies the user's limits."""

    def __init__(self, settings: Idle) -> None:
        self._settings = settings

    async def allowed(self) -> WorkAllowed:
        """The work allowed now. Takes half a second, during which this program should be idle."""
        on_battery, max_load = self._settings.on_battery, self._settings.max_load
        if on_battery != "all" and await asyncio.to_thread(runs_on_battery):
            return WorkAllowed.LIGHT if on_battery == "light" else WorkAllowed.NOTHING
        # Light work disturbs nobody, even on a busy machine.
        busy = max_load < 1 and await _load() > max_load
        return WorkAllowed.LIGHT if busy else WorkAllowed.ALL


async def _load() -> float:
    """The share of all cores in use; 0 if unknown."""
    before = await asyncio.to_thread(processor_seconds)
    await asyncio.sleep(MEASURED_S)
    after = await asyncio.to_thread(processor_seconds)
    if before is None or after is None or after[1] <= before[1]:
        return 0.0
    return 1 - (after[0] - before[0]) / (after[1] - before[1])


def runs_on_battery() -> bool:
    """False if there is no battery, or its state is unknown."""
    try:
        battery = psutil.sensors_battery()
    except (OSError, AttributeError, NotImplementedError) as error:  # not supported everywhere
        logger.debug("the battery's state is unknown: %s", type(error).__name__)
        return False
    return battery is not None and battery.power_plugged is False


def processor_seconds() -> tuple[float, float] | None:
    """Seconds that all cores together have been idle, and have run, since the machine started; None
    if unknown."""
    try:
        times: Any = psutil.cpu_times()
    except (OSError, NotImplementedError) as error:
        logger.debug("the processor's load is unknown: %s", type(error).__name__)
        return None
    # Linux counts guest time twice; while waiting for a disk, a core is free for others.
    twice = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return times.idle + getattr(times, "iowait", 0.0), sum(times) - twice
