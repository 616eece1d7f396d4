"""How much idle work this machine can bear now: by its battery, and by what else it does."""

import asyncio
import logging
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import psutil

from assistant.settings import Idle

logger = logging.getLogger(__name__)

MEASURED_S = 0.5
"""For how long the processor is watched. Not the load average: that would tell of the work done a
minute ago, this program's own."""


class WorkAllowed(IntEnum):
    """More is allowed by a greater one."""

    NOTHING = 0
    LIGHT = 1
    ALL = 2


@dataclass(frozen=True, slots=True)
class Ticks:
    """Seconds that all cores together have spent since the start of the machine."""

    idle: float
    total: float


class MachineLoad:
    """What is asked of the operating system. Blocking, for less than a millisecond mostly."""

    def on_battery(self) -> bool:
        """False where there is none, or nothing is known of it."""
        try:
            battery = psutil.sensors_battery()
        except (OSError, AttributeError, NotImplementedError) as error:  # not on every system
            logger.debug("nothing is known of a battery: %s", type(error).__name__)
            return False
        return battery is not None and battery.power_plugged is False

    def ticks(self) -> Ticks | None:
        """None where nothing is known of it."""
        try:
            times: Any = psutil.cpu_times()
        except (OSError, NotImplementedError) as error:
            logger.debug("nothing is known of the processor: %s", type(error).__name__)
            return None
        # Linux counts guests twice, and waiting for a disk leaves the core to others.
        twice = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
        idle = times.idle + getattr(times, "iowait", 0.0)
        return Ticks(idle, sum(times) - twice)


class LoadPolicy:
    """
    Args:
        settings: the limits.
    """

    def __init__(
        self,
        settings: Idle,
        machine: MachineLoad | None = None,
        measured_s: float = MEASURED_S,
    ) -> None:
        self._settings = settings
        self._machine = machine or MachineLoad()
        self._measured_s = measured_s

    async def allowed(self) -> WorkAllowed:
        """Now. Takes half a second, in which none of this program's own work should run."""
        by_power = await self._by_power()
        return min(by_power, await self._by_load()) if by_power else by_power

    async def _by_power(self) -> WorkAllowed:
        if self._settings.on_battery != "all" and await asyncio.to_thread(self._machine.on_battery):
            return (
                WorkAllowed.LIGHT if self._settings.on_battery == "light" else WorkAllowed.NOTHING
            )
        return WorkAllowed.ALL

    async def _by_load(self) -> WorkAllowed:
        """Light work disturbs nobody."""
        if self._settings.max_load >= 1:
            return WorkAllowed.ALL
        before = await asyncio.to_thread(self._machine.ticks)
        await asyncio.sleep(self._measured_s)
        after = await asyncio.to_thread(self._machine.ticks)
        if before is None or after is None or after.total <= before.total:
            return WorkAllowed.ALL
        busy = 1 - (after.idle - before.idle) / (after.total - before.total)
        return WorkAllowed.LIGHT if busy > self._settings.max_load else WorkAllowed.ALL
