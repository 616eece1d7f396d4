"""Decides how much idle work the machine can bear now, by its battery and its other load."""

import asyncio
import logging
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import psutil

from assistant.settings import Idle

logger = logging.getLogger(__name__)

MEASURED_S = 0.5
"""Seconds for which the processor's load is measured. The load average would not do: it includes
this program's own work of the last minute."""


class WorkAllowed(IntEnum):
    """How much work is allowed; a greater value allows more."""

    NOTHING = 0
    LIGHT = 1
    ALL = 2


@dataclass(frozen=True, slots=True)
class Ticks:
    """Seconds that all cores together have spent since the machine started."""

    idle: float
    total: float


class MachineLoad:
    """Queries the operating system. Blocks, usually for less than a millisecond."""

    def on_battery(self) -> bool:
        """False if there is no battery, or its state is unknown."""
        try:
            battery = psutil.sensors_battery()
        except (OSError, AttributeError, NotImplementedError) as error:  # not supported everywhere
            logger.debug("the battery's state is unknown: %s", type(error).__name__)
            return False
        return battery is not None and battery.power_plugged is False

    def ticks(self) -> Ticks | None:
        """None if unknown."""
        try:
            times: Any = psutil.cpu_times()
        except (OSError, NotImplementedError) as error:
            logger.debug("the processor's load is unknown: %s", type(error).__name__)
            return None
        # Linux counts guest time twice; while waiting for a disk, a core is free for others.
        twice = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
        idle = times.idle + getattr(times, "iowait", 0.0)
        return Ticks(idle, sum(times) - twice)


class LoadPolicy:
    """Applies the user's limits.

    Args:
        settings: has the limits.
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
        """What is allowed now. Takes half a second, in which this program should do no work."""
        by_power = await self._by_power()
        return min(by_power, await self._by_load()) if by_power else by_power

    async def _by_power(self) -> WorkAllowed:
        if self._settings.on_battery != "all" and await asyncio.to_thread(self._machine.on_battery):
            return (
                WorkAllowed.LIGHT if self._settings.on_battery == "light" else WorkAllowed.NOTHING
            )
        return WorkAllowed.ALL

    async def _by_load(self) -> WorkAllowed:
        """At most light work on a busy machine: it disturbs nobody."""
        if self._settings.max_load >= 1:
            return WorkAllowed.ALL
        before = await asyncio.to_thread(self._machine.ticks)
        await asyncio.sleep(self._measured_s)
        after = await asyncio.to_thread(self._machine.ticks)
        if before is None or after is None or after.total <= before.total:
            return WorkAllowed.ALL
        busy = 1 - (after.idle - before.idle) / (after.total - before.total)
        return WorkAllowed.LIGHT if busy > self._settings.max_load else WorkAllowed.ALL
