"""How long a search takes, and whether there is time for the rest of one."""

import statistics
import threading
import time
from collections import deque
from collections.abc import Callable

SEARCHES = 8
"""The last ones, by which it is told how long the next will take."""
LEAST_S = 0.0005
"""Of a deadline, for what comes after a search, or in place of it."""
MORE = 1.25
MOST = 0.6
"""Of a deadline, for the search; the rest is the question's."""


class Limit:
    """When a search must be over. Where another program takes the processor for some milliseconds
    in the middle of one, what there is by then has to do.

    Args:
        due: on `clock`.
        whole_s: what a search takes as a rule.
    """

    def __init__(
        self, due: float, whole_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.due = due
        self.cut = False
        """Whether a search was cut short by it."""
        self._whole_s = whole_s
        self._clock = clock

    def acquire(self, lock: threading.Lock) -> bool:
        """Whether it could be had in time; where not, the search is cut short."""
        left = max(0.0, self.due - self._clock())
        acquired = lock.acquire(timeout=min(left, threading.TIMEOUT_MAX))
        self.cut = self.cut or not acquired
        return acquired

    def allows(self, share: float) -> bool:
        """Whether there is time for this share of a whole search. Where there is none, the search
        is cut short."""
        self.cut = self.cut or self._clock() + share * self._whole_s > self.due
        return not self.cut


class Pace:
    """By what the last searches took.

    Args:
        first: seconds, until there were some.
    """

    def __init__(self, first: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._first = first
        self._clock = clock
        self._took: deque[float] = deque(maxlen=SEARCHES)

    @property
    def _whole_s(self) -> float:
        # Some of them may have been cut short, and some have waited for the processor.
        return statistics.median(self._took) if len(self._took) == SEARCHES else self._first

    def reserve(self, deadline_s: float) -> float:
        """Seconds of it to be kept for the search."""
        return min(LEAST_S + MORE * self._whole_s, MOST * deadline_s)

    def limit(self, due: float) -> Limit:
        """For a search that has to be of use at `due`."""
        return Limit(due - LEAST_S, self._whole_s, self._clock)

    def over(self, seconds: float, limit: Limit) -> None:
        """A search was. One that was cut short tells nothing of how long they take; where what is
        thought of that cuts all of them short, it is forgotten bit by bit."""
        if not limit.cut:
            self._took.append(seconds)
        elif self._took:
            self._took.popleft()
