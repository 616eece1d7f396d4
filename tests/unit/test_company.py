"""Tests that share a machine: who is inside together with whom."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.support.company import Company, Cores, Room

ROOT = Path(__file__).resolve().parents[2]
ANY, PACED, NONE = Company
SHARED = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
BESIDE = {(ANY, ANY), (PACED, PACED)}


STAYING = """
import sys, time
from pathlib import Path
from tests.support.company import Company, Cores, Room

with Room(Path(sys.argv[1])).entered(Company.NONE):
    print("in", flush=True)
    time.sleep(60)
"""
HOOKS = """
from tests.conftest import pytest_collection_modifyitems, pytest_configure
from tests.conftest import pytest_runtest_protocol, pytest_unconfigure
"""
MODULE = """
import os, time
from pathlib import Path
import pytest

LOG = Path(__file__).with_name("log")

def note(what):
    with LOG.open("a") as log:
        log.write(f"{what}\\n")

@pytest.fixture
def inside(request):
    note(f"+{request.node.name}")
    yield
    note(f"-{request.node.name}")

@pytest.mark.alone
@pytest.mark.parametrize("n", range(3))
def test_NONE(n, inside): time.sleep(0.05)

@pytest.mark.paced
@pytest.mark.parametrize("n", range(3))
def test_PACED(n, inside): time.sleep(0.05)

@pytest.mark.parametrize("n", range(3))
def test_ANY(n, inside): time.sleep(0.05)
"""


@contextmanager
def arriving(folder: Path, company: Company) -> Iterator[Callable[[], Future[None]]]:
    """Somebody who, when called, wants to come in, and leaves again at once."""

    def visit() -> None:
        with closing(Room(folder)) as room, room.entered(company):
            """Inside."""

    with ThreadPoolExecutor(1) as pool:
        yield lambda: pool.submit(visit)


@pytest.mark.parametrize("first", Company)
@pytest.mark.parametrize("second", Company)
def test_only_the_same_company_is_inside_together(
    tmp_path: Path, first: Company, second: Company
) -> None:
    with ExitStack() as stack:
        room = stack.enter_context(closing(Room(tmp_path)))
        visit = stack.enter_context(arriving(tmp_path, second))
        with room.entered(first):
            came = visit()
            if (first, second) in BESIDE:
                came.result(30)
            else:
                with pytest.raises(TimeoutError):
                    came.result(0.05)
        came.result(30)


def test_who_waits_comes_before_who_arrives(tmp_path: Path) -> None:
    """Else a test that wants to be alone would wait until all the others have been run."""
    with ExitStack() as stack:
        room = stack.enter_context(closing(Room(tmp_path)))
        alone = stack.enter_context(arriving(tmp_path, NONE))
        another = stack.enter_context(arriving(tmp_path, ANY))
        with room.entered(ANY):
            waiting = alone()
            with pytest.raises(TimeoutError):
                waiting.result(0.05)
            late = another()
            with pytest.raises(TimeoutError):
                late.result(0.05)
        waiting.result(30)
        late.result(30)


def test_a_process_that_is_killed_holds_nobody_up(tmp_path: Path) -> None:
    with (
        subprocess.Popen(
            [sys.executable, "-c", STAYING, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE
        ) as child,
        arriving(tmp_path, ANY) as visit,
    ):
        assert child.stdout is not None
        assert child.stdout.readline() == b"in\n"
        came = visit()
        with pytest.raises(TimeoutError):
            came.result(0.05)
        child.kill()
        came.result(30)


def test_two_processes_keep_to_it(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(HOOKS)
    for name in ("one", "two"):
        (tmp_path / f"test_{name}.py").write_text(MODULE)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT}\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *SHARED, "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "18 passed" in done.stdout.splitlines()[-1]
    inside: list[Company] = []
    begun: list[Company] = []
    for line in (tmp_path / "log").read_text().splitlines():
        company = Company[line[1:].partition("[")[0].removeprefix("test_")]
        if line[0] == "-":
            inside.remove(company)
            continue
        assert all((company, other) in BESIDE for other in inside), line
        inside.append(company)
        begun.append(company)
    assert begun.count(NONE) == 6
    assert begun[0] is ANY
    assert begun[-1] is NONE


@pytest.mark.parametrize("processes", [1, 2, 200])
def test_each_process_has_cores_of_its_own_and_all_when_it_is_alone(processes: int) -> None:
    """In threads, which have theirs each on Linux, or this test would bind its own process."""

    def cores(number: int) -> tuple[set[int], set[int]]:
        share = Cores(number, processes)
        share.use(ANY)
        own = usable()
        share.use(NONE)
        return own, usable()

    with ThreadPoolExecutor(1) as pool:
        found = [pool.submit(cores, number).result() for number in range(processes)]
    everything = usable()
    assert all(all_of_them == everything for _, all_of_them in found)
    assert set().union(*(own for own, _ in found)) == everything
    if processes <= len(everything):
        assert sum(len(own) for own, _ in found) == len(everything)


def usable() -> set[int]:
    """To the thread that asks."""
    return os.sched_getaffinity(0) if sys.platform == "linux" else set()
