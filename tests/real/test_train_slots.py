"""Training the reader of slots: a step makes it better, and what is written can be read."""

import json
import shutil
from pathlib import Path

import pytest

from assistant.errors import ModelMissing
from models.download.cache import ModelStore
from models.encoder.preparation import main
from models.encoder.slots import OnnxSlotReader
from models.interfaces import DescribedSlot
from scripts import train_slots
from scripts.train.slot_lessons import read_lessons
from scripts.train.slot_samples import sample
from tests.support.small_bert import WIDTH, publish

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
]

NAME = "all-minilm-l6-v2"


def test_steps_lower_the_loss_and_the_saved_weights_are_loaded_again(
    store: ModelStore, tmp_path: Path
) -> None:
    import torch
    from transformers import AutoTokenizer

    from scripts.train.lora import Optimiser
    from scripts.train.slots import Reader, judged, loss_of

    lessons = read_lessons(1)
    spoken = {word for each in lessons for word in each.said.lower().split()}
    publish(tmp_path, sorted(spoken))
    tokenizer = AutoTokenizer.from_pretrained(str(tmp_path))
    model = Reader(str(tmp_path), 4, "cpu", half=False)
    samples = [sample(each, tokenizer, None) for each in lessons]
    steps = 20
    optimiser = Optimiser(model.trained, 0.01, steps)
    model.eval()
    first = loss_of(model, samples).item()
    for _ in range(steps):
        optimiser.step(loss_of(model, samples))
    last = loss_of(model, samples).item()
    assert 0 < last < 0.8 * first

    out = tmp_path / "adapter"
    figures = judged(model, tokenizer, lessons)
    assert all(0 <= each <= 1 for each in figures.values())
    model.save(store.catalogue.get(NAME), out)
    assert OnnxSlotReader.layers(out, WIDTH).keys() == OnnxSlotReader.shapes(WIDTH).keys()
    again = Reader(str(tmp_path), 4, "cpu", half=False).eval()
    again.resume(out)
    with torch.no_grad():
        assert loss_of(again, samples).item() == pytest.approx(last, rel=0.02)


@pytest.mark.long
def test_a_trained_reader_is_prepared_and_reads(
    store: ModelStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "adapter"
    few = ["--limit", "12", "--talk", "20", "--epochs", "1", "--batch", "16", "--json"]
    assert train_slots.main(["--out", str(out), *few]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["learnt"] > 100
    assert sorted(each.name for each in out.iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]
    folder = tmp_path / NAME
    for file in store.catalogue.get(NAME).files:
        target = folder / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(store.location(NAME) / file.name, target)
    assert main([str(folder), "--slots", str(out)]) == 0
    reader = OnnxSlotReader(folder, out)
    reader.load()
    [found] = reader.read("on Friday", [DescribedSlot("day: On which day? date")]).slots
    assert sum(found.acts.values()) == pytest.approx(1, abs=1e-5)


def test_an_unknown_encoder_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert train_slots.main(["--encoder", "gpt-9", "--limit", "2"]) == ModelMissing.exit_code
    assert "gpt-9" in capsys.readouterr().err


def test_if_nothing_is_left_to_learn_it_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    [first, *_] = read_lessons(1)
    assert train_slots.main(["--judge", first.by, "--limit", "1"]) == 2
    assert "there is nothing to learn" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--epochs", "0"], ["--talk", "-1"], ["--rate", "fast"]])
def test_wrong_options_are_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        train_slots.main(wrong)
    assert caught.value.code == 2
    assert wrong[0] in capsys.readouterr().err
