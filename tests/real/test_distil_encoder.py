"""With an adapter from the script, fewer layers encode questions, and all layers the memories."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from assistant.errors import ModelFailed
from models.download.cache import ModelStore
from models.encoder.onnx import OnnxEncoder
from models.encoder.preparation import main
from scripts import distil_encoder
from tests.support.reference_encoder import reference

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The PEFT config's `base_model_name_or_path`:UserWarning"),
]

NAME = "all-minilm-l6-v2"
TEXTS = ["What is my dog called?", "I moved to Ghent in May, for the job, and it rains a lot."]


@pytest.mark.long
def test_questions_are_encoded_with_the_distilled_layers(
    store: ModelStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "distilled"
    few = ["--limit", "150", "--hold-out", "10", "--epochs", "2", "--rank", "4", "--layers"]
    assert distil_encoder.main(["--out", str(out), *few, "5", "0"]) == 0
    told = capsys.readouterr().out
    assert "learnt: 1440" in told
    before, after = (
        float(line.partition("'cosine': ")[2].partition(",")[0])
        for line in told.splitlines()
        if line.startswith(("before", "after"))
    )
    assert after > before
    assert sorted(each.name for each in out.iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]

    adapter = store.catalogue.get(NAME).adapter
    assert adapter
    folder = tmp_path / NAME
    folder.mkdir()
    for file in store.catalogue.get(NAME).files:
        target = folder / file.name
        target.parent.mkdir(exist_ok=True)
        shutil.copy(store.location(NAME) / file.name, target)
    assert main([str(folder), f"--adapter={adapter.path}", f"--distilled={out}"]) == 0
    memories, questions = (OnnxEncoder(folder, quantised=each) for each in (False, True))
    for encoder in (memories, questions):
        encoder.load()
    truth = reference(folder, adapter.path, TEXTS)
    np.testing.assert_allclose(memories.encode(TEXTS), truth, atol=2e-6)
    distilled = reference(folder, adapter.path, TEXTS, out)
    assert np.sum(questions.encode(TEXTS) * distilled, axis=1).min() > 0.95
    assert np.sum(truth * distilled, axis=1).max() < 0.95


def test_layers_that_do_not_exist_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert distil_encoder.main(["--layers", "0", "6", "--limit", "8"]) == ModelFailed.exit_code
    assert capsys.readouterr().err.strip().endswith("The encoder has only the layers 0 to 5.")
