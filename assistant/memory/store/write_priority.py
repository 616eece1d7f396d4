"""Lets writes to the store pause while someone is speaking.

Storing a statement that was derived between utterances takes several operations. Each of them uses
all cores for some milliseconds. If someone starts to speak, the remaining operations wait. The
store is consistent between any two of them. Writes of the conversation itself never wait, and
neither does anything queued before them.
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
"""Seconds between two checks whether someone is still speaking."""

logger = logging.getLogger(__name__)

_gentle: ContextVar[bool] = ContextVar("gentle", default=False)
_running = threading.local()


@contextmanager
def low_priority() -> Iterator[None]:
    """Give low priority to the work that this block submits to a `WriterThread`. Such work pauses
    while someone is speaking."""
    before = _gentle.set(True)
    try:
        yield
    finally:
        _gentle.reset(before)


def yield_to_speech() -> None:
    """Pause low-priority work while someone is speaking. Call this between two operations of such
    work. In other work, this returns immediately."""
    writing: WriterThread | None = getattr(_running, "writing", None)
    if writing is not None:
        writing.wait()


class WriterThread(ThreadPoolExecutor):
    """A thread that runs one task after another."""

    def __init__(self, name: str) -> None:
        super().__init__(1, thread_name_prefix=name)
        self.somebody: Callable[[], bool] = lambda: False
        """Returns whether someone may be speaking. It is called in the writer thread."""
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
        """Submit work whose result nobody waits for. A failure is logged."""
        self.submit(do, *args, **kwargs).add_done_callback(_logged)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the thread. Pending work is finished first, even if someone is speaking."""
        with self._changed:
            self._wanted += 1
            self._changed.notify_all()
        super().shutdown(wait, cancel_futures=cancel_futures)

    def wait(self) -> None:
        """Wait until nobody is speaking, or until high-priority work is queued. Call this only in
        the writer thread itself."""
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
