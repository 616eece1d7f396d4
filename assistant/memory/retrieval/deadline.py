"""How long a search takes, and whether there is time for the rest of one."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple


class StepTimes(NamedTuple):
    """Seconds of each step of a search: what the words say; the nearest in meaning; the ranking
    with all that is known of those. `brief` is what takes the ranking's place where there is no
    time for it."""

    words: float = 0.0
    meaning: float = 0.0
    ranking: float = 0.0
    brief: float = 0.0


NO_TIME = StepTimes()
SHARES = StepTimes(0.1, 0.45, 0.45, 0.25)
"""Of a search among 100,000, to begin with."""
LAST = 8
"""Times of a step by which it is told how long the next will take."""
AS_A_RULE = 3 * LAST // 4 - 1
"""Which of them is expected, counted from the quickest: the others waited for the processor."""
TRIED_AFTER, TRIED_AT_LAST = 2, 256
"""Searches in which there was no time for a step, until it is tried all the same: it may be quick
again. Twice as many after each try that was in vain."""
LEAST_S = 0.0005
"""Of a deadline, for what comes after a search."""
MORE = 1.25
MOST = 0.6
"""Of a deadline, for the search; the rest is the question's."""


class SearchDeadline:
    """When a search must be over. Where another program takes the processor for some milliseconds
    in the middle of one, what there is by then has to do. Begins when it is made.

    Args:
        due: on `clock`.
        expected: as a rule; by default it takes no time.
    """

    def __init__(
        self,
        due: float,
        expected: StepTimes = NO_TIME,
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
        """The words alone decided, or nothing did, for want of time."""
        return self.cut and not self.by_meaning

    @property
    def brief(self) -> bool:
        """Words and meaning decided, for want of time."""
        return self.cut and self.by_meaning

    def acquire(self, lock: threading.Lock) -> bool:
        """Whether it could be had in time; where not, the search is cut short."""
        left = max(0.0, self._due - self._clock())
        acquired = lock.acquire(timeout=min(left, threading.TIMEOUT_MAX))
        self.cut = not acquired
        self._since = self._clock()
        return acquired

    def after_words(self, *, meaning: bool) -> bool:
        """Whether there is time to look for the nearest in meaning.

        Args:
            meaning: whether there is a vector; else there is nothing to look for, and what is
                asked is whether there is time for the ranking.
        """
        self._done("words")
        expected = self._expected
        return self._allows(expected.meaning + expected.brief if meaning else expected.ranking)

    def after_meaning(self) -> bool:
        """Whether there is time for the ranking."""
        self._done("meaning")
        self.by_meaning = True
        return self._allows(self._expected.ranking)

    def over(self) -> None:
        """The search is."""
        if self.took and not self.too_late:
            self._done("brief" if self.cut else "ranking")

    def _done(self, step: str) -> None:
        now = self._clock()
        self.took[step] = now - self._since
        self._since = now

    def _allows(self, seconds: float) -> bool:
        self.cut = self._since + seconds > self._due
        return not self.cut


class SearchTimings:
    """By what the steps of the last searches took.

    Args:
        first: seconds of a search, until there were some.
    """

    def __init__(self, first: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._steps = {step: _Step(share * first) for step, share in SHARES._asdict().items()}

    @property
    def _expected(self) -> StepTimes:
        return StepTimes(**{name: step.expected for name, step in self._steps.items()})

    def reserve(self, deadline_s: float) -> float:
        """Seconds of it to be kept for a whole search."""
        words, meaning, ranking, _ = self._expected
        return min(LEAST_S + MORE * (words + meaning + ranking), MOST * deadline_s)

    def least(self, deadline_s: float) -> float:
        """To be kept for one in brief, or for a whole one by words alone; at most `reserve`."""
        words, meaning, ranking, brief = self._expected
        enough = words + max(meaning + brief, ranking)
        return min(LEAST_S + MORE * enough, self.reserve(deadline_s))

    def limit(self, due: float) -> SearchDeadline:
        """For a search that has to be of use at `due`, and begins now."""
        return SearchDeadline(due - LEAST_S, self._expected, self._clock)

    def over(self, limit: SearchDeadline) -> None:
        """The search that had this limit is."""
        limit.over()
        if not limit.took:
            return
        for name, step in self._steps.items():
            if name in limit.took:
                step.took(limit.took[name])
            elif name != "brief":  # there is always time for that
                step.left_out()


class _Step:
    """What is known of the time that a step takes."""

    def __init__(self, first: float) -> None:
        self._took = deque([first] * LAST, maxlen=LAST)
        self._left_out = 0
        self._tried_after = TRIED_AFTER

    @property
    def expected(self) -> float:
        """Seconds. Where it is to be tried, those of the quickest, and ever fewer until it is."""
        waiting = self._left_out - self._tried_after
        return self._as_a_rule if waiting < 0 else min(self._took) * 0.25**waiting

    @property
    def _as_a_rule(self) -> float:
        return sorted(self._took)[AS_A_RULE]

    def took(self, seconds: float) -> None:
        if self._left_out < self._tried_after:
            self._took.append(seconds)
            self._tried_after = max(TRIED_AFTER, self._tried_after // 2)
        elif seconds < self._as_a_rule:  # one slow moment is over
            self._took.extend([seconds] * LAST)
            self._tried_after = TRIED_AFTER
        else:
            self._tried_after = min(2 * self._tried_after, TRIED_AT_LAST)
        self._left_out = 0

    def left_out(self) -> None:
        """There was no time for it, or no vector in time."""
        self._left_out += 1
