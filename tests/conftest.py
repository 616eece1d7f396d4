"""Options, fixtures and hooks that all tests share."""

import json
import math
import os
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

from assistant.memory.store.lance_import import import_lancedb
from assistant.paths import Home
from assistant.settings_errors import ENVIRONMENT_PREFIX
from tests.support import keyrings
from ui.process.imports import imports_for_good

MODELS_CACHE = "ASSISTANT_MODELS_CACHE"
ROOT = Path(__file__).resolve().parents[1]
DURATIONS = ROOT / "tests" / "durations.json"
"""Holds the seconds that each file takes, and each test that takes at least one second."""
TORCH = frozenset(
    {
        "tests/real/test_turn_judge.py",
        "tests/real/test_distil_encoder.py",
        "tests/real/test_encoder.py",
        "tests/real/test_intents.py",
        "tests/real/test_mlx.py",
        "tests/real/test_reranker.py",
        "tests/real/test_slots.py",
        "tests/real/test_train_answers.py",
        "tests/real/test_train_turn_judge.py",
        "tests/real/test_train_encoder.py",
        "tests/real/test_train_intents.py",
        "tests/real/test_train_knowable.py",
        "tests/real/test_train_reranker.py",
        "tests/real/test_train_slots.py",
        "tests/unit/models/test_mlx_grammar.py",
    }
)
"""The files whose tests import torch or transformers. One process runs them all, since importing
both takes five seconds."""


def pytest_configure(config: pytest.Config) -> None:
    """Bind each of several test processes (`-n`) and its children to a part of the cores. The
    threads of the models' engines wait for each other by spinning, so two engines on the same two
    cores take more than twice the time of one. There are more processes than cores, since many
    tests wait most of their time."""
    worker = getattr(config, "workerinput", None)
    if worker is not None and sys.platform == "linux":  # before libraries count cores
        cores = sorted(os.sched_getaffinity(0))
        number = int(worker["workerid"].removeprefix("gw"))
        os.sched_setaffinity(0, cores[number % len(cores) :: worker["workercount"]])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each file to one process, and the files of `TORCH` all to the same one."""
    scheduler = LoadFileScheduling(config, log)
    scheduler._split_scope = scope_of
    return scheduler


def scope_of(test: str) -> str:
    file = file_of(test)
    return "torch" if file in TORCH else file


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import the tests, and with them all of the assistant, as its own processes import it."""
    with imports_for_good():
        import_lancedb()
        return (yield)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the files, which go one by one to the next free process: long files come first, so that
    no process is still busy with one at the end."""
    for item in items:
        if item.get_closest_marker("alone") and not item.nodeid.startswith("tests/real/"):
            raise pytest.UsageError(
                f"{item.nodeid}: only tests in tests/real may be marked `alone`."
            )
    if "torch" in sys.modules:
        raise pytest.UsageError(
            "A test module imports torch, for which all processes wait: import it within a test."
        )
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
        help="store the pictures of the screen as drawn now (tests/ui/test_snapshots.py)",
    )
    parser.addoption(
        "--durations-update",
        action="store_true",
        help="store how long these tests took (tests/durations.json)",
    )


@pytest.fixture(scope="session", autouse=True)
def no_settings_from_outside() -> Iterator[None]:
    """Hide the developer's own settings, data and keyring from the tests, but not the models'
    cache."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in list(os.environ):
            if variable.startswith(ENVIRONMENT_PREFIX) and variable != MODELS_CACHE:
                patch.delenv(variable)
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
        yield


@pytest.fixture(autouse=True)
def no_home_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSISTANT_HOME", str(tmp_path / "home"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A separate home for each test, which is also the default home of the command line."""
    return Home(tmp_path / "home").create()


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a keyring; returns its file."""
    file = tmp_path / "keyring.json"
    for name, value in keyrings.environment(file).items():
        monkeypatch.setenv(name, value)
    return file
