"""The clocks that determine when timers, alarms and reminders are due."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo


def _now() -> datetime:
    return datetime.now(UTC)


def _steady() -> float:
    # On Linux, CLOCK_MONOTONIC stands still while the machine sleeps. On macOS, it does not.
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def _zone() -> tzinfo | None:
    time.tzset()  # the machine's zone may have changed since the start
    return None


@dataclass(frozen=True, slots=True)
class Clocks:
    """The machine's clocks.

    Attributes:
        now: the time that the machine shows, in UTC. The clock may be set.
        steady: a count of seconds that advances evenly, even while the machine sleeps.
        zone: the zone in which the user is at present. None stands for the machine's own.
    """

    now: Callable[[], datetime] = _now
    steady: Callable[[], float] = _steady
    zone: Callable[[], tzinfo | None] = _zone

    def local(self) -> datetime:
        """Return the time that the user's clock shows."""
        return self.now().astimezone(self.zone())
