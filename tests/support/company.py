"""Which tests may run beside which, where several processes share them (`pytest -n`).

What hears and speaks in real time fails on a machine that is busy with something else. So a test
that wants the machine to itself waits until the others have left, and they wait for it; what is
paced, but works little, runs beside its like. All else is shared as it comes, each process on
cores of its own: the threads of the models' engines wait for each other by spinning, and two such
teams on the same cores take more than twice the time of one.
"""

import fcntl
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import IntEnum
from pathlib import Path
from typing import IO

import pytest


class Company(IntEnum):
    """In the order in which the tests are run, so that nobody waits for long."""

    ANY = 0
    PACED = 1
    NONE = 2


def company_of(item: pytest.Item) -> Company:
    """By marker."""
    if item.get_closest_marker("alone") or item.get_closest_marker("sound"):
        return Company.NONE
    paced = item.get_closest_marker("paced")
    return Company.PACED if paced else Company.ANY


def order(items: Sequence[pytest.Item]) -> Callable[[pytest.Item], tuple[Company, bool, int]]:
    """The key by which to sort them: by company, and within it so that nobody waits at its end.

    The files go one by one to the process that is free, so the long ones come first. Paced tests
    last about equally long each; of all the others those take long that are few in their file.
    """
    sizes = Counter(item.path for item in items)

    def key(item: pytest.Item) -> tuple[Company, bool, int]:
        company, size = company_of(item), sizes[item.path]
        fast = item.get_closest_marker("real") is None
        return company, fast, -size if company is Company.PACED else size

    return key


class Room:
    """Where all that are inside keep the same company; processes meet in `folder`.

    The locks are the system's own: those of a process that was killed are free.
    """

    def __init__(self, folder: Path) -> None:
        self._exit = ExitStack()
        self._gate = self._open(folder / "gate.lock")
        self._inside = {each: self._open(folder / f"{each.name.lower()}.lock") for each in Company}

    def close(self) -> None:
        self._exit.close()

    @contextmanager
    def entered(self, company: Company) -> Iterator[None]:
        """Wait until no other company is inside; for `NONE`, until nobody is."""
        mine = self._inside[company]
        with _locked(self._gate, fcntl.LOCK_EX):  # who waits comes before who arrives
            for each, others in self._inside.items():
                if each is not company:
                    with _locked(others, fcntl.LOCK_EX):
                        """They have left; nobody enters while the gate is held."""
            fcntl.flock(mine, fcntl.LOCK_EX if company is Company.NONE else fcntl.LOCK_SH)
        try:
            yield
        finally:
            fcntl.flock(mine, fcntl.LOCK_UN)

    def _open(self, path: Path) -> IO[bytes]:
        return self._exit.enter_context(path.open("ab"))


@contextmanager
def _locked(file: IO[bytes], how: int) -> Iterator[None]:
    fcntl.flock(file, how)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


class Cores:
    """Those of one process of several. What it starts inherits them."""

    def __init__(self, number: int, processes: int) -> None:
        self._all: list[int] = []
        if sys.platform == "linux":  # elsewhere the system moves threads as it likes
            self._all = sorted(os.sched_getaffinity(0))
        self._own = self._all[number % processes :: processes] or self._all

    def use(self, company: Company) -> None:
        """Its own ones; all of them where it works alone or little."""
        if sys.platform == "linux":
            os.sched_setaffinity(0, self._own if company is Company.ANY else self._all)
