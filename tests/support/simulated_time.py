"""Time that passes only while all code waits: a minute of speech is over in milliseconds.

While any code runs, on the event loop or in a thread of a pool, the clock stands still. Once all
code waits, the clock jumps to the next timer. So no machine is too slow or too busy for such a
test, and events happen in the same order in each run.
"""

import asyncio
import heapq
import selectors
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.thread import _WorkItem
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from assistant.idle.activity import ActivityMonitor
from assistant.memory.retrieval.deadline import SearchDeadline, SearchTimings

STUCK_S = 60.0
"""Seconds of real time after which a working thread is considered stuck. It waits for something
that never comes: in threads, only waiting by `time.sleep` is simulated."""
LONGEST_S = 120.0
"""Seconds of real time that one test may take. A timeout in simulated time would not limit a test:
while a thread outside the pools works, the clock may jump straight to the timeout."""
HAVE_CLOCKS = (ActivityMonitor, SearchDeadline, SearchTimings)
"""Classes whose last argument is a clock; its default was bound to `time.monotonic` on import."""

_thread = threading.local()


class SimulatedClock:
    """The clock behind the module `time` while a `SimulatedLoop` is open."""

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        self._now = time.monotonic()
        self._real_sleep = time.sleep
        self._loops_thread = threading.get_ident()
        self._lock = threading.Lock()
        self._working = set[Future[Any]]()
        """Work that was given to pools and is neither done nor asleep."""
        self._pools = WeakKeyDictionary[Future[Any], ThreadPoolExecutor]()
        """The pool of each piece of work that has not begun."""
        self._asleep: list[tuple[float, int, Future[Any], threading.Event, ThreadPoolExecutor]] = []
        self._sleepers = Counter[ThreadPoolExecutor]()
        """How many threads of each pool are asleep."""
        self._order = count()
        self._patch = pytest.MonkeyPatch()

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        if seconds > 0 and threading.get_ident() == self._loops_thread:
            self._now += seconds
        elif seconds > 0 and (work := getattr(_thread, "work", None)) is not None:
            due, pool = threading.Event(), _thread.pool
            with self._lock:
                self._sleepers[pool] += 1
                sleeper = self._now + seconds, next(self._order), work, due, pool
                heapq.heappush(self._asleep, sleeper)
            self._rests(work)
            due.wait()
        else:
            self._real_sleep(seconds)

    def jump(self, at_most: float | None) -> bool:
        """Jump to the next timer: the loop's, in `at_most` seconds, or a thread's. Returns False if
        any thread is working or no timer is set."""
        with self._lock:
            works = any(not (each.cancelled() or self._queued(each)) for each in self._working)
            if works or (at_most is None and not self._asleep):
                return False
            ends = [] if at_most is None else [self._now + at_most]
            self._now = max(self._now, min([*ends, *(due for due, *_ in self._asleep[:1])]))
            while self._asleep and self._asleep[0][0] <= self._now:
                _, _, work, due, pool = heapq.heappop(self._asleep)
                self._sleepers[pool] -= 1
                self._working.add(work)
                due.set()
        return True

    def install(self) -> None:
        self._patch.setattr(time, "monotonic", self.monotonic)
        self._patch.setattr(time, "monotonic_ns", lambda: int(self._now * 1e9))
        self._patch.setattr(time, "sleep", self.sleep)
        for each in HAVE_CLOCKS:
            defaults = (*(each.__init__.__defaults__ or ())[:-1], self.monotonic)
            self._patch.setattr(each.__init__, "__defaults__", defaults)
        submit, run = ThreadPoolExecutor.submit, _WorkItem.run

        def submitted(
            pool: ThreadPoolExecutor, do: Callable[..., Any], /, *args: Any, **named: Any
        ) -> Future[Any]:
            with self._lock:
                work = submit(pool, do, *args, **named)
                self._working.add(work)
                self._pools[work] = pool
            return work

        def worked(item: _WorkItem[Any], *context: Any) -> None:
            _thread.work = work = item.future  # `run` clears `item.future`
            with self._lock:
                _thread.pool = self._pools.pop(work)
            try:
                run(item, *context)  # waiters for the result have been notified when this ends
            finally:
                _thread.work = None
                self._rests(work)

        self._patch.setattr(ThreadPoolExecutor, "submit", submitted)
        self._patch.setattr(_WorkItem, "run", worked)

    def remove(self) -> None:
        self._patch.undo()
        with self._lock:
            for *_, due, _ in self._asleep:
                due.set()

    def _queued(self, work: Future[Any]) -> bool:
        """Whether the work can't begin, because all threads of its pool are asleep."""
        pool = self._pools.get(work)
        return pool is not None and self._sleepers[pool] >= pool._max_workers

    def _rests(self, work: Future[Any]) -> None:
        with self._lock:
            self._working.discard(work)
        self._wake()


class _Selector(selectors.DefaultSelector):
    """The selector, in which the loop waits; it moves the clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.clock: SimulatedClock | None = None
        self._opened = time.perf_counter()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or self.clock is None or (timeout is not None and timeout <= 0):
            return ready
        if time.perf_counter() - self._opened > LONGEST_S:
            raise RuntimeError("the test does not end")
        if self.clock.jump(timeout):
            return []
        if not (ready := super().select(STUCK_S)):
            raise RuntimeError("a thread of a pool neither ends nor sleeps")
        return ready


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop on a simulated clock, which the whole program uses until the loop is closed."""

    def __init__(self) -> None:
        selector = _Selector()
        super().__init__(selector)
        self._clock = selector.clock = SimulatedClock(self._woken)
        self._clock.install()

    def close(self) -> None:
        if not self.is_closed():
            self._clock.remove()
        super().close()

    def _woken(self) -> None:
        if not self.is_closed():
            self.call_soon_threadsafe(lambda: None)
