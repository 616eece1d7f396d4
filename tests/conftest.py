"""What all tests share."""

import json
import math
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.paths import Home
from assistant.settings import ENVIRONMENT_PREFIX
from tests.support import keyrings

MODELS_CACHE = "ASSISTANT_MODELS_CACHE"
ROOT = Path(__file__).resolve().parents[1]
DURATIONS = ROOT / "tests" / "durations.json"
"""Seconds of each file, and of each test that takes one and more."""


def pytest_configure(config: pytest.Config) -> None:
    """Each of several processes (`-n`) is bound to one part of the cores, and so is what it starts:
    the threads of the models' engines wait for each other by spinning, and two such teams on the
    same two cores take more than twice the time of one. There are more processes than cores, since
    many tests wait most of their time."""
    worker = getattr(config, "workerinput", None)
    if worker is not None and sys.platform == "linux":  # before libraries count them
        cores = sorted(os.sched_getaffinity(0))
        number = int(worker["workerid"].removeprefix("gw"))
        os.sched_setaffinity(0, cores[number % len(cores) :: worker["workercount"]])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The files go one by one to the process that is free: the long ones first, so that none is
    left working alone at the end."""
    for item in items:
        if item.get_closest_marker("alone") and not item.nodeid.startswith("tests/real/"):
            raise pytest.UsageError(f"{item.nodeid}: only in tests/real are tests run alone.")
    if hasattr(config, "workerinput"):
        took: dict[str, float] = json.loads(DURATIONS.read_text())["files"]
        items.sort(key=lambda item: -took.get(file_of(item.nodeid), math.inf))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if not config.getoption("--durations-update"):
        return
    kept: dict[str, dict[str, float]] = json.loads(DURATIONS.read_text())
    tests, files = defaultdict[str, float](float), defaultdict[str, float](float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                tests[report.nodeid] += report.duration
    for test, seconds in tests.items():
        files[file_of(test)] += seconds
    long = {test: seconds for test, seconds in tests.items() if seconds >= 1}
    known = {test: took for test, took in kept["tests"].items() if file_of(test) not in files}
    told = {"files": kept["files"] | files, "tests": known | long}
    DURATIONS.write_text(
        json.dumps(
            {
                kind: {
                    each: round(seconds, 1)
                    for each, seconds in sorted(took.items(), key=lambda item: -item[1])
                    if (ROOT / file_of(each)).exists()
                }
                for kind, took in told.items()
            },
            indent=1,
        )
        + "\n"
    )


def file_of(test: str) -> str:
    return test.partition("::")[0]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--snapshot-update",
        action="store_true",
        help="keep the pictures of the screen as they are drawn now (tests/ui/test_snapshots.py)",
    )
    parser.addoption(
        "--durations-update",
        action="store_true",
        help="keep how long these tests took (tests/durations.json)",
    )


@pytest.fixture(scope="session", autouse=True)
def no_settings_from_outside() -> Iterator[None]:
    """The developer's own settings and data have no part in the tests; the models' cache has."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in list(os.environ):
            if variable.startswith(ENVIRONMENT_PREFIX) and variable != MODELS_CACHE:
                patch.delenv(variable)
        # Nor has the developer's keyring.
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
        yield


@pytest.fixture(autouse=True)
def no_home_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSISTANT_HOME", str(tmp_path / "home"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home of its own for each test; the default one of the command line too."""
    return Home(tmp_path / "home").create()


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """There is a keyring; its file."""
    file = tmp_path / "keyring.json"
    for name, value in keyrings.environment(file).items():
        monkeypatch.setenv(name, value)
    return file
