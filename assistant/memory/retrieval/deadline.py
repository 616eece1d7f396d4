"""Measures how long searches take, and decides whether there is time for the next step."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple


class StepTimes(NamedTuple):
    """Seconds taken by each step of a search: search by words, search by meaning, and full ranking.
    `brief` is the short ranking used if there is no time for the full one."""

    words: float = 0.0
    meaning: float = 0.0
    ranking: float = 0.0
    brief: float = 0.0


NO_TIME = StepTimes()
SHARES = StepTimes(0.1, 0.45, 0.45, 0.25)
"""Initial estimate: each step's share of the time of a search among 100,000 memories."""
LAST = 8
"""Number of recent timings kept per step."""
USUAL = 3 * LAST // 4 - 1
"""Position, counted from the fastest, of the recent timing that predicts the next one: slower
searches had to wait for the processor."""
TRIED_AFTER, TRIED_AT_LAST = 2, 256
"""Number of searches in which a step is skipped for lack of time before it is tried anyway, as it
may be fast again: initially, and at most. Doubled after each try that fails."""
LEAST_S = 0.0005
"""Seconds of a deadline reserved for the work after a search."""
MORE = 1.25
MOST = 0.6
"""Largest share of a deadline for the search; the rest is for encoding the question."""


class SearchDeadline:
    """The time when a search must end. If another program takes the processor during the search,
    the memories found so far are used. The first step starts when this is created.

    Args:
        due: the time on `clock`.
        expected: usual times of the steps; by default zero.
    """

    def __init__(
        self,
        due: float,
        expected: StepTimes = NO_TIME,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cut = False
        """Whether the search was cut short."""
        self.by_meaning = False
        """Whether the search by meaning was done."""
        self.took: dict[str, float] = {}
        """Seconds of the completed steps, by name."""
        self._due = due
        self._expected = expected
        self._clock = clock
        self._since = clock()

    @property
    def too_late(self) -> bool:
        """Whether there was only time for a search by words, or not even for that."""
        return self.cut and not self.by_meaning

    @property
    def brief(self) -> bool:
        """Whether there was only time for the searches by words and meaning."""
        return self.cut and self.by_meaning

    def acquire(self, lock: threading.Lock) -> bool:
        """Whether the lock was acquired in time; if not, the search is cut short."""
        left = max(0.0, self._due - self._clock())
        acquired = lock.acquire(timeout=min(left, threading.TIMEOUT_MAX))
        self.cut = not acquired
        self._since = self._clock()
        return acquired

    def after_words(self, *, meaning: bool) -> bool:
        """Whether there is time for the search by meaning.

        Args:
            meaning: whether there is a vector; if not, the question is whether there is time for
                the ranking.
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
        """Record that the search has ended."""
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
    """Predicts search times from the last searches.

    Args:
        first: assumed seconds of a search before any has been measured.
    """

    def __init__(self, first: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._steps = {step: _Step(share * first) for step, share in SHARES._asdict().items()}

    @property
    def _expected(self) -> StepTimes:
        return StepTimes(**{name: step.expected for name, step in self._steps.items()})

    def reserve(self, deadline_s: float) -> float:
        """Seconds of the deadline to reserve for a full search."""
        words, meaning, ranking, _ = self._expected
        return min(LEAST_S + MORE * (words + meaning + ranking), MOST * deadline_s)

    def least(self, deadline_s: float) -> float:
        """Seconds to reserve for a brief search, or a full one by words; at most `reserve`."""
        words, meaning, ranking, brief = self._expected
        enough = words + max(meaning + brief, ranking)
        return min(LEAST_S + MORE * enough, self.reserve(deadline_s))

    def limit(self, due: float) -> SearchDeadline:
        """The deadline of a search that starts now and must be useful by `due`."""
        return SearchDeadline(due - LEAST_S, self._expected, self._clock)

    def over(self, limit: SearchDeadline) -> None:
        """Record the timings of the search that had this limit."""
        limit.over()
        if not limit.took:
            return
        for name, step in self._steps.items():
            if name in limit.took:
                step.took(limit.took[name])
            elif name != "brief":  # there is always time for a brief ranking
                step.left_out()


class _Step:
    """Predicts how long a step takes."""

    def __init__(self, first: float) -> None:
        self._took = deque([first] * LAST, maxlen=LAST)
        self._left_out = 0
        self._tried_after = TRIED_AFTER

    @property
    def expected(self) -> float:
        """Seconds. If a skipped step should be tried again: the fastest recent time, divided by
        four for each further search that skips it."""
        waiting = self._left_out - self._tried_after
        return self._usual if waiting < 0 else min(self._took) * 0.25**waiting

    @property
    def _usual(self) -> float:
        return sorted(self._took)[USUAL]

    def took(self, seconds: float) -> None:
        if self._left_out < self._tried_after:
            self._took.append(seconds)
            self._tried_after = max(TRIED_AFTER, self._tried_after // 2)
        elif seconds < self._usual:  # one slow moment is over
            self._took.extend([seconds] * LAST)
            self._tried_after = TRIED_AFTER
        else:
            self._tried_after = min(2 * self._tried_after, TRIED_AT_LAST)
        self._left_out = 0

    def left_out(self) -> None:
        """The step was skipped for lack of time, or because no vector was ready."""
        self._left_out += 1
