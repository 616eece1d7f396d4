"""Writes to the store yield to speech.

Storing a statement found between utterances takes several operations, each using all cores for some
milliseconds. If someone starts to speak, the remaining operations wait: between two of them
nothing is half written. Writes of the conversation itself never wait, and neither does anything
queued before them.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

LOOKS_EVERY_S = 0.05
"""Seconds between checks whether it is quiet again."""

logger = logging.getLogger(__name__)

_gentle: ContextVar[bool] = ContextVar("gentle", default=False)
_running = threading.local()


@contextmanager
def low_priority() -> Iterator[None]:
    """Work given to a `WriterThread` in this block yields to speech."""
    before = _gentle.set(True)
    try:
        yield
    finally:
        _gentle.reset(before)


def yield_to_speech() -> None:
    """Called between two operations of low-priority work: returns when it may continue. Returns
    at once in other threads."""
    writing: WriterThread | None = getattr(_running, "writing", None)
    if writing is not None:
        writing.wait()


class WriterThread(ThreadPoolExecutor):
    """A thread that runs one task after another."""

    def __init__(self, name: str) -> None:
        super().__init__(1, thread_name_prefix=name)
        self.somebody: Callable[[], bool] = lambda: False
        """Returns whether someone may be speaking; called in this thread."""
        self._wanted = 0
        self._changed = threading.Condition()

    def submit(self, do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        if _gentle.get():
            return super().submit(self._gently, do, *args, **kwargs)
        with self._changed:
            self._wanted += 1
            self._changed.notify_all()
        try:
            done = super().submit(do, *args, **kwargs)
        except BaseException:
            self._over()
            raise
        done.add_done_callback(self._over)
        return done

    def post(self, do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Like `submit`, but nobody waits for the result: a failure is logged."""
        self.submit(do, *args, **kwargs).add_done_callback(_logged)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Finishes pending work first, even if someone speaks."""
        with self._changed:
            self._wanted += 1
            self._changed.notify_all()
        super().shutdown(wait, cancel_futures=cancel_futures)

    def wait(self) -> None:
        """Wait until it is quiet, or high-priority work is waiting. Called in this thread."""
        with self._changed:
            while not self._wanted and self.somebody():
                self._changed.wait(LOOKS_EVERY_S)

    def _gently(self, do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        _running.writing = self
        try:
            self.wait()
            return do(*args, **kwargs)
        finally:
            _running.writing = None

    def _over(self, _: object = None) -> None:
        with self._changed:
            self._wanted -= 1


def _logged(done: "Future[T]") -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        logger.error("work on the memories failed", exc_info=error)
