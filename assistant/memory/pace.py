"""How long a search takes, and whether there is time for the rest of one."""

import statistics
import threading
import time
from collections import deque
from collections.abc import Callable

SEARCHES = 8
"""The last ones, by which it is told how long the next will take."""
LEAST_S = 0.0005
"""Of a deadline, for what comes after a search."""
INSTEAD = 0.25
"""Of what a search takes: what the words say in its place does. At least `LEAST_S`."""
MORE = 1.25
MOST = 0.6
"""Of a deadline, for the search; the rest is the question's."""


class Limit:
    """When a search must be over. Where another program takes the processor for some milliseconds
    in the middle of one, what there is by then has to do. Begins when it is made.

    Args:
        due: on `clock`.
        whole_s: what a search takes as a rule.
    """

    def __init__(
        self, due: float, whole_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.cut = False
        """Whether a search was cut short by it."""
        self._due = due
        self._whole_s = whole_s
        self._clock = clock
        self._began = clock()
        self._done: tuple[float, float] | None = None

    def acquire(self, lock: threading.Lock) -> bool:
        """Whether it could be had in time; where not, the search is cut short."""
        left = max(0.0, self._due - self._clock())
        acquired = lock.acquire(timeout=min(left, threading.TIMEOUT_MAX))
        self.cut = self.cut or not acquired
        return acquired

    def allows(self, share: float) -> bool:
        """Whether there is time for this share of a whole search, which is left of it. Where there
        is none, the search is cut short."""
        now = self._clock()
        if not self.cut and now + share * self._whole_s > self._due:
            self.cut = True
            self._done = now - self._began, 1 - share
        return not self.cut

    def took(self) -> float | None:
        """Seconds of a whole search, now that it is over; where it was cut short, by what of it was
        done. None where it never began."""
        if not self.cut:
            return self._clock() - self._began
        if self._done is None:
            return None
        seconds, share = self._done
        return seconds / share


class Pace:
    """By what the last searches took.

    Args:
        first: seconds, until there were some.
    """

    def __init__(self, first: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._took: deque[float] = deque([first] * SEARCHES, maxlen=SEARCHES)

    @property
    def _whole_s(self) -> float:
        return statistics.median(self._took)  # some of them have waited for the processor

    def reserve(self, deadline_s: float) -> float:
        """Seconds of it to be kept for the search."""
        return min(LEAST_S + MORE * self._whole_s, MOST * deadline_s)

    def limit(self, due: float) -> Limit:
        """For a search that has to be of use at `due`, and begins now."""
        whole = self._whole_s
        return Limit(due - max(LEAST_S, INSTEAD * whole), whole, self._clock)

    def over(self, limit: Limit) -> None:
        """The search that had this limit is."""
        took = limit.took()
        if took is not None:
            self._took.append(took)
