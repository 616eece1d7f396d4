"""The layers that judge what can be known are added to an adapter, which stays as it is."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from assistant.errors import ModelCorrupt, ModelMissing
from models.download.cache import ModelStore
from models.encoder.intents import KNOWABLE
from scripts import eval_knowable, train_knowable

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The PEFT config's `base_model_name_or_path`:UserWarning"),
]

WEIGHTS = "adapter_model.safetensors"
FEW, FEWER = ["--limit", "60", "--talk", "40"], ["--limit", "20", "--talk", "20"]


@pytest.fixture
def adapter(store: ModelStore, tmp_path: Path) -> Path:
    """A copy of the adapter in use."""
    intents = store.catalogue.get("all-minilm-l6-v2").intents
    assert intents
    return Path(shutil.copytree(intents.path, tmp_path / "adapter"))


def test_only_the_layers_are_written_and_only_if_that_is_wanted(
    adapter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = load_file(adapter / WEIGHTS)
    assert train_knowable.main(["--adapter", str(adapter), *FEW, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["learnt"] <= 100
    assert figures["right"] > 0.6
    same = load_file(adapter / WEIGHTS)
    assert all(np.array_equal(same[name], each) for name, each in before.items())

    assert train_knowable.main(["--adapter", str(adapter), *FEWER, "--write"]) == 0
    after = load_file(adapter / WEIGHTS)
    changed = {name for name, each in after.items() if not np.array_equal(before[name], each)}
    assert changed == {"knowable.weight", "knowable.bias", "told.weight", "told.bias"}
    assert after["told.weight"].shape == before["told.weight"].shape
    assert after["knowable.weight"].shape == before["knowable.weight"].shape
    assert len(after["knowable.bias"]) == len(KNOWABLE)


def test_a_missing_encoder_and_a_damaged_adapter_are_reported(
    adapter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train_knowable.main(["--encoder", "gpt-9"]) == ModelMissing.exit_code
    assert "gpt-9" in capsys.readouterr().err
    (adapter / "adapter_config.json").unlink()
    assert train_knowable.main(["--adapter", str(adapter), *FEW]) == ModelCorrupt.exit_code
    assert "can't be read" in capsys.readouterr().err


def test_the_layer_in_use_finds_most_unknowable_questions_and_few_others(
    store: ModelStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert eval_knowable.main(["--show", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["recall"] > 0.7
    assert figures["known"] < 0.02
    assert figures["talk_share"] < 0.04
