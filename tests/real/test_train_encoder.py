"""A model prepared with an adapter from the training script gives the same vectors as with peft."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from assistant.errors import ModelCorrupt
from models.download.cache import ModelStore
from models.encoder.onnx import OnnxEncoder
from models.encoder.preparation import main
from scripts import train_encoder
from tests.support.reference_encoder import reference

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The PEFT config's `base_model_name_or_path`:UserWarning"),
]

NAME = "all-minilm-l6-v2"
TEXTS = ["What is my dog called?", "I moved to Ghent in May, for the job, and it rains a lot."]


@pytest.mark.long
def test_a_trained_adapter_is_prepared_as_peft_applies_it(
    store: ModelStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "adapter"
    few = [
        "--on",
        "asked_of_said",
        "--limit",
        "72",
        "--hold-out",
        "9",
        "--epochs",
        "1",
        "--layers",
        "1",
        "--rank",
        "2",
    ]
    few += ["--rate", "0.03"]
    assert train_encoder.main(["--encoder", NAME, "--out", str(out), *few]) == 0
    told = capsys.readouterr().out
    assert "learnt: 64" in told
    assert "before: {'R@1'" in told
    assert sorted(each.name for each in out.iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]

    second = tmp_path / "second"
    more = [*few[:-2], "--begun", str(out), "--rate", "0", "--out", str(second)]
    assert train_encoder.main(["--encoder", NAME, *more]) == 0
    weights = "adapter_model.safetensors"
    assert (second / weights).read_bytes() == (out / weights).read_bytes(), (
        "training must start from the given adapter"
    )
    for wrong in (["--rank", "3"], ["--begun", str(tmp_path / "none")]):
        capsys.readouterr()
        assert train_encoder.main(["--encoder", NAME, *more, *wrong]) == ModelCorrupt.exit_code
        assert "adapter" in capsys.readouterr().err

    folder = tmp_path / NAME
    folder.mkdir()
    for file in store.catalogue.get(NAME).files:
        target = folder / file.name
        target.parent.mkdir(exist_ok=True)
        shutil.copy(store.location(NAME) / file.name, target)
    assert main([str(folder), "--adapter", str(out)]) == 0
    encoder = OnnxEncoder(folder)
    encoder.load()
    truth = reference(folder, out, TEXTS)
    np.testing.assert_allclose(encoder.encode(TEXTS), truth, atol=2e-6)
    published = OnnxEncoder(store.location(NAME))
    published.load()
    assert np.abs(published.encode(TEXTS) - truth).max() > 1e-3
