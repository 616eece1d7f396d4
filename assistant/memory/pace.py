"""How long a search takes, and whether there is time for the rest of one."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple


class Steps(NamedTuple):
    """Seconds of each step of a search: what the words say; the nearest in meaning; the ranking
    with all that is known of those. `brief` is what takes the place of the ranking, and of the
    nearest, where there is no time for them."""

    words: float = 0.0
    meaning: float = 0.0
    ranking: float = 0.0
    brief: float = 0.0

    @property
    def whole(self) -> float:
        return self.words + self.meaning + self.ranking


NO_TIME = Steps()
SHARES = Steps(0.1, 0.45, 0.45, 0.25)
"""Of a search among 100,000, to begin with."""
SEARCHES = 8
"""The last ones, by which it is told how long the next will take."""
AS_A_RULE = 3 * SEARCHES // 4 - 1
"""Which of them is expected, counted from the quickest."""
HOPE = 0.95
"""What a step that was not come to is expected to take the next time, of what it was expected to:
else a slow moment would cut all searches short from then on."""
LEAST_S = 0.0005
"""Of a deadline, for what comes after a search."""
MORE = 1.25
MOST = 0.6
"""Of a deadline, for the search; the rest is the question's."""


class Limit:
    """When a search must be over. Where another program takes the processor for some milliseconds
    in the middle of one, what there is by then has to do. Begins when it is made.

    Args:
        due: on `clock`.
        expected: as a rule; by default it takes no time.
    """

    def __init__(
        self,
        due: float,
        expected: Steps = NO_TIME,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cut = False
        """Whether a search was cut short by it."""
        self.by_meaning = False
        """Whether the nearest in meaning were looked for."""
        self.took: dict[str, float] = {}
        """Seconds of the steps that were done, by their names."""
        self._due = due
        self._expected = expected
        self._clock = clock
        self._since = clock()

    @property
    def too_late(self) -> bool:
        """The words alone decided, or nothing did."""
        return self.cut and not self.by_meaning

    def acquire(self, lock: threading.Lock) -> bool:
        """Whether it could be had in time; where not, the search is cut short."""
        left = max(0.0, self._due - self._clock())
        acquired = lock.acquire(timeout=min(left, threading.TIMEOUT_MAX))
        self.cut = not acquired
        self._since = self._clock()
        return acquired

    def after_words(self) -> bool:
        """Whether there is time to look for the nearest in meaning."""
        self._done("words")
        return self._allows(self._expected.meaning + self._expected.brief)

    def after_meaning(self) -> bool:
        """Whether there is time for the ranking."""
        self._done("meaning")
        self.by_meaning = True
        return self._allows(self._expected.ranking)

    def over(self) -> None:
        """The search is."""
        if self.took:
            self._done("brief" if self.cut else "ranking")

    def _done(self, step: str) -> None:
        now = self._clock()
        self.took[step] = now - self._since
        self._since = now

    def _allows(self, seconds: float) -> bool:
        self.cut = self._since + seconds > self._due
        return not self.cut


class Pace:
    """By what the steps of the last searches took.

    Args:
        first: seconds of a search, until there were some.
    """

    def __init__(self, first: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._took = {
            step: deque([share * first] * SEARCHES, maxlen=SEARCHES)
            for step, share in SHARES._asdict().items()
        }

    @property
    def _expected(self) -> Steps:
        """As long as three of four took; the others have waited for the processor."""
        return Steps(**{step: sorted(took)[AS_A_RULE] for step, took in self._took.items()})

    def reserve(self, deadline_s: float) -> float:
        """Seconds of it to be kept for a whole search."""
        return min(LEAST_S + MORE * self._expected.whole, MOST * deadline_s)

    def least(self, deadline_s: float) -> float:
        """To be kept for one by words and meaning, in brief; not more than `reserve`."""
        words, meaning, _, brief = self._expected
        return min(LEAST_S + words + meaning + brief, self.reserve(deadline_s))

    def limit(self, due: float) -> Limit:
        """For a search that has to be of use at `due`, and begins now."""
        return Limit(due - LEAST_S, self._expected, self._clock)

    def over(self, limit: Limit) -> None:
        """The search that had this limit is."""
        limit.over()
        for step, expected in self._expected._asdict().items():
            if step in limit.took:
                self._took[step].append(limit.took[step])
            elif limit.took and step != "brief":
                self._took[step].append(HOPE * expected)
