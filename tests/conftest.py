"""What all tests share."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from assistant.paths import Home
from assistant.settings import ENVIRONMENT_PREFIX
from tests.support import keyrings
from tests.support.company import Company, Cores, Room, company_of, order

MODELS_CACHE = "ASSISTANT_MODELS_CACHE"
ROOM = pytest.StashKey[Room]()
CORES = pytest.StashKey[Cores]()
TRIES_AGAIN = 2
"""Of a test that hears or speaks in real time: a machine that stands still for half a second for
its own reasons cuts a word in two. The report counts them, and all else is tried once."""


def pytest_configure(config: pytest.Config) -> None:
    """One of several processes (`-n`) shares a room and the cores with the others."""
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return
    config.stash[ROOM] = Room(Path(config.getoption("basetemp")).parent)
    config.stash[CORES] = Cores(int(worker["workerid"].removeprefix("gw")), worker["workercount"])
    config.stash[CORES].use(Company.ANY)  # before libraries count them


def pytest_unconfigure(config: pytest.Config) -> None:
    if ROOM in config.stash:
        config.stash[ROOM].close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if company_of(item) is not Company.ANY:
            item.add_marker(pytest.mark.flaky(reruns=TRIES_AGAIN))
    if ROOM in config.stash:
        items.sort(key=order(items))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Around fixtures and all: loading a model keeps a machine as busy as asking it."""
    if ROOM not in item.config.stash:
        return (yield)
    company = company_of(item)
    with item.config.stash[ROOM].entered(company):
        item.config.stash[CORES].use(company)
        return (yield)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--snapshot-update",
        action="store_true",
        help="keep the pictures of the screen as they are drawn now (tests/ui/test_snapshots.py)",
    )


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The developer's own settings and data have no part in the tests; the models' cache has."""
    for variable in list(os.environ):
        if variable.startswith(ENVIRONMENT_PREFIX) and variable != MODELS_CACHE:
            monkeypatch.delenv(variable)
    # Nor has the developer's keyring.
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
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
