"""Starts separate processes, which tests can kill. They are forked from a process that has already
imported LanceDB and the memory, which takes longer than all the work of a child."""

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any

from tests.support.patience import PATIENCE_S

FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(
    [
        "tests.support.lancedb_imported",
        "pytest",
        "tests.support.idle_home",
        "tests.support.forgetting",
    ]
)
Say = Callable[[Any], None]


@dataclass
class Child:
    process: ForkServerProcess
    _pipe: "Connection[Any, Any]"

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def hears(self, within_s: float) -> bool:
        """Whether the child sends something, or ends, within this time."""
        return self._pipe.poll(within_s)

    def hear(self) -> Any:
        """The next object that the child sends.

        Raises:
            EOFError: it ended without sending one.
        """
        assert self.hears(PATIENCE_S)
        return self._pipe.recv()

    def rest(self) -> Iterator[Any]:
        """All complete objects that the child sends before it ends."""
        while True:
            try:
                said = self._pipe.recv()
            except (EOFError, OSError):  # OSError: killed while sending
                return
            yield said

    def kill_in(self, seconds: float) -> None:
        threading.Timer(seconds, self.process.kill).start()

    def ended(self) -> int:
        """Wait for the end; returns the exit code, which is negative if a signal ended the
        child."""
        self.process.join(PATIENCE_S)
        code = self.process.exitcode
        assert code is not None
        return code


@contextmanager
def child(work: Callable[..., None], *arguments: object) -> Iterator[Child]:
    """Call `work(*arguments, say)` in a process that is killed when the block ends."""
    ours, theirs = FORKED.Pipe(duplex=False)
    process = FORKED.Process(target=_work, args=(work, arguments, theirs))
    process.start()
    theirs.close()
    try:
        yield Child(process, ours)
    finally:
        process.kill()
        process.join()
        ours.close()


def _work(
    work: Callable[..., None], arguments: tuple[object, ...], pipe: "Connection[Any, Any]"
) -> None:
    work(*arguments, pipe.send)
