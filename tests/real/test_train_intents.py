"""What the training script writes is prepared and classifies as it was trained to."""

import json
import shutil
from pathlib import Path

import pytest

from assistant.errors import ModelCorrupt, ModelMissing
from models import catalogue
from models.download.cache import ModelStore
from models.encoder.intents import KINDS, OnnxIntentClassifier
from models.encoder.preparation import main
from scripts import train_intents, train_knowable

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The PEFT config's `base_model_name_or_path`:UserWarning"),
]

NAME = "all-minilm-l6-v2"


@pytest.mark.long
def test_a_trained_classifier_tells_a_command_from_talk(
    store: ModelStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "adapter"
    few = ["--limit", "1200", "--talk", "100", "--epochs", "3", "--batch", "16", "--json"]
    assert train_intents.main(["--out", str(out), *few]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["learnt"] == 1200
    assert figures["right"] > 0.5
    assert sorted(each.name for each in out.iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
        KINDS,
    ]

    folder = tmp_path / NAME
    folder.mkdir()
    for file in store.catalogue.get(NAME).files:
        target = folder / file.name
        target.parent.mkdir(exist_ok=True)
        shutil.copy(store.location(NAME) / file.name, target)
    assert main([str(folder), "--intents", str(out)]) == ModelCorrupt.exit_code
    assert "train_knowable" in capsys.readouterr().err
    knowable = ["--adapter", str(out), "--write", "--limit", "60", "--talk", "60"]
    assert train_knowable.main(knowable) == 0
    assert main([str(folder), "--intents", str(out)]) == 0
    classifier = OnnxIntentClassifier(folder, out)
    classifier.load()
    forget = classifier.classify("Please forget what I just said.").probabilities
    talk = classifier.classify("We had soup for lunch and it rained all day.").probabilities
    assert max(forget, key=forget.__getitem__).startswith("forget")
    assert sum(forget.values()) > 0.5 > sum(talk.values())


@pytest.mark.long
def test_training_goes_on_from_an_adapter(capsys: pytest.CaptureFixture[str]) -> None:
    begun = catalogue.read().get(NAME).adapters["intents"].path
    few = ["--limit", "64", "--talk", "8", "--epochs", "1", "--rate", "1e-6", "--json"]
    assert train_intents.main(["--begun", str(begun), *few]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["right"] > 0.85


def test_what_is_no_adapter_for_intents_is_not_gone_on_from(
    capsys: pytest.CaptureFixture[str],
) -> None:
    others = catalogue.read().get(NAME).adapters["turns"].path
    assert train_intents.main(["--begun", str(others), "--limit", "8"]) == ModelCorrupt.exit_code
    assert "can't be used" in capsys.readouterr().err


def test_an_unknown_encoder_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert train_intents.main(["--encoder", "gpt-9", "--limit", "8"]) == ModelMissing.exit_code
    assert "gpt-9" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--epochs", "0"], ["--talk", "-1"], ["--rate", "fast"]])
def test_wrong_options_are_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        train_intents.main(wrong)
    assert caught.value.code == 2
    assert wrong[0] in capsys.readouterr().err
