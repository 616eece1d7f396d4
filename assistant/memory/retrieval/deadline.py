"""Measures how long the steps of a search take, and decides whether there is time for the next
step."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple


class StepTimes(NamedTuple):
    """Seconds taken by each step of a search: the search by words, the search by meaning, and the
    full ranking. `brief` is the short ranking, which is used if there is no time for the full
    one."""

    words: float = 0.0
    meaning: float = 0.0
    ranking: float = 0.0
    brief: float = 0.0


NO_TIME = StepTimes()
SHARES = StepTimes(0.1, 0.45, 0.45, 0.25)
"""Initial estimate of each step's share of a search's time, measured with 100,000 memories."""
LAST = 8
"""Number of recent durations kept per step."""
USUAL = 3 * LAST // 4 - 1
"""Index of the duration that is taken as the prediction, among the recent durations in ascending
order. Longer ones are ignored, because those searches had to wait for the processor."""
TRIED_AFTER, TRIED_AT_LAST = 2, 256
"""Initial and largest number of searches that skip a slow step before the step is tried again. The
number doubles each time the step turns out to still be slow."""
LEAST_S = 0.0005
"""Seconds of a deadline reserved for the work after a search."""
MORE = 1.25
MOST = 0.6
"""Largest share of a deadline that is reserved for the search. The rest is for encoding the
question."""


class SearchDeadline:
    """The deadline of one search. If the search gets too slow, e.g. because another program uses
    the processor, its remaining steps are skipped. Timing of the first step starts when this object
    is created, and starts again when `acquire` returns.

    Args:
        due: when the search must end, in seconds on `clock`.
        expected: how long each step usually takes; default: zero.
    """

    def __init__(
        self,
        due: float,
        expected: StepTimes = NO_TIME,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cut = False
        """Whether steps of the search were skipped for lack of time."""
        self.by_meaning = False
        """Whether the search by meaning was completed."""
        self.took: dict[str, float] = {}
        """Seconds that each completed step took, by the step's name."""
        self._due = due
        self._expected = expected
        self._clock = clock
        self._since = clock()

    @property
    def too_late(self) -> bool:
        """Whether the search by meaning was skipped for lack of time."""
        return self.cut and not self.by_meaning

    @property
    def brief(self) -> bool:
        """Whether only the full ranking was skipped for lack of time."""
        return self.cut and self.by_meaning

    def acquire(self, lock: threading.Lock) -> bool:
        """Wait for the lock until the deadline; return whether it was acquired. If not, the search
        counts as cut short."""
        left = max(0.0, self._due - self._clock())
        acquired = lock.acquire(timeout=min(left, threading.TIMEOUT_MAX))
        self.cut = not acquired
        self._since = self._clock()
        return acquired

    def after_words(self, *, meaning: bool) -> bool:
        """Record that the search by words is done; return whether there is time for the next step.

        Args:
            meaning: whether the question has a vector. The next step is then the search by meaning,
                otherwise the full ranking.
        """
        self._done("words")
        expected = self._expected
        return self._allows(expected.meaning + expected.brief if meaning else expected.ranking)

    def after_meaning(self) -> bool:
        """Record that the search by meaning is done; return whether there is time for the full
        ranking."""
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
    """Predicts the duration of the next search from those of the latest searches.

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
        """Return how many seconds of the deadline to reserve for a full search."""
        words, meaning, ranking, _ = self._expected
        return min(LEAST_S + MORE * (words + meaning + ranking), MOST * deadline_s)

    def least(self, deadline_s: float) -> float:
        """Return the minimum number of seconds of the deadline to reserve, never more than
        `reserve` returns. They are enough for a search by words and meaning with the short ranking,
        or for a search by words with the full ranking."""
        words, meaning, ranking, brief = self._expected
        enough = words + max(meaning + brief, ranking)
        return min(LEAST_S + MORE * enough, self.reserve(deadline_s))

    def limit(self, due: float) -> SearchDeadline:
        """Return the deadline for a search that starts now and whose results are needed at
        `due`."""
        return SearchDeadline(due - LEAST_S, self._expected, self._clock)

    def over(self, limit: SearchDeadline) -> None:
        """Record the durations of a finished search, taken from its deadline object."""
        limit.over()
        if not limit.took:
            return
        for name, step in self._steps.items():
            if name in limit.took:
                step.took(limit.took[name])
            elif name != "brief":  # there is always time for a brief ranking
                step.left_out()


class _Step:
    """Predicts how long one step takes."""

    def __init__(self, first: float) -> None:
        self._took = deque([first] * LAST, maxlen=LAST)
        self._left_out = 0
        self._tried_after = TRIED_AFTER

    @property
    def expected(self) -> float:
        """Expected seconds of the step. Once the step has been skipped often enough to be tried
        again, this is the fastest recent duration. It is divided by four for each further search
        that skips the step."""
        waiting = self._left_out - self._tried_after
        return self._usual if waiting < 0 else min(self._took) * 0.25**waiting

    @property
    def _usual(self) -> float:
        return sorted(self._took)[USUAL]

    def took(self, seconds: float) -> None:
        if self._left_out < self._tried_after:
            self._took.append(seconds)
            self._tried_after = max(TRIED_AFTER, self._tried_after // 2)
        elif seconds < self._usual:  # only one search was slow
            self._took.extend([seconds] * LAST)
            self._tried_after = TRIED_AFTER
        else:
            self._tried_after = min(2 * self._tried_after, TRIED_AT_LAST)
        self._left_out = 0

    def left_out(self) -> None:
        """Record that the step was skipped, for lack of time or because no vector was ready."""
        self._left_out += 1
