"""Training the judge of words: steps make it better, and what is prepared judges as what was
trained."""

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest

from assistant.errors import ModelCorrupt, ModelMissing
from models.download.cache import ModelStore
from models.encoder.preparation import main
from models.encoder.turn_judge import OnnxTurnJudge
from scripts import train_turn_judge
from scripts.common.spoken_turns import (
    INTERRUPTIONS,
    TRAINING,
    read_interruptions,
    read_turns,
)
from scripts.train.turn_lessons import drawn, pauses
from tests.support.small_bert import WIDTH, publish

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
]


def test_steps_lower_the_loss_and_the_prepared_model_judges_as_the_trained_one(
    store: ModelStore, tmp_path: Path
) -> None:
    import torch
    from transformers import AutoTokenizer

    from scripts.train.lora import Optimiser
    from scripts.train.turn_judge import Judge, judged, loss_of, sample, unambiguous

    marked = [lesson for turn in read_turns(TRAINING, 30) for lesson in pauses(turn)]
    spoken = read_interruptions(INTERRUPTIONS, 30)
    lessons = [each for each in drawn(marked, [], spoken, 0, Random(1)) if each.words]
    folder, out = tmp_path / "bert", tmp_path / "adapter"
    folder.mkdir()
    words = {word.lower() for each in lessons for word in each.words.split() if word.isalpha()}
    publish(folder, sorted(words))
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    model = Judge(str(folder), 4, "cpu", half=False).eval()
    batch = [sample(each, tokenizer) for each in lessons]
    steps = 60
    optimiser = Optimiser(model.trained, 0.03, steps)
    first = loss_of(model, batch).item()
    for _ in range(steps):
        optimiser.step(loss_of(model, batch))
    last = loss_of(model, batch).item()
    assert 0 < last < 0.8 * first
    assert judged(model, tokenizer, marked)["auc"] > 0.7
    kept = unambiguous(model, tokenizer, lessons)
    assert [each for each in kept if each.wanted] == [each for each in lessons if each.wanted]
    assert len(kept) <= len(lessons)

    model.save(store.catalogue.get("all-minilm-l6-v2"), out)
    assert OnnxTurnJudge.layers(out, WIDTH).keys() == OnnxTurnJudge.shapes(WIDTH).keys()
    again = Judge(str(folder), 4, "cpu", half=False).eval()
    again.resume(out)
    assert main([str(folder), "--turns", str(out)]) == 0
    prepared = OnnxTurnJudge(folder, out)
    prepared.load()
    with torch.no_grad():
        wanted = again(batch).numpy()
    found = [
        prepared.complete(each.words, each.assistant)
        if each.layer == "complete"
        else prepared.interrupts(each.words, each.assistant)
        for each in lessons
    ]
    assert np.corrcoef(wanted, found)[0, 1] > 0.97


def test_an_adapter_without_a_fitting_layer_is_not_prepared(
    store: ModelStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slots = store.catalogue.get("all-minilm-l6-v2").slots
    assert slots
    publish(tmp_path, ["word"])
    assert main([str(tmp_path), "--turns", str(slots.path)]) == ModelCorrupt.exit_code
    assert "adapter for turns" in capsys.readouterr().err
    assert not (tmp_path / OnnxTurnJudge.GRAPH).exists()


@pytest.mark.long
def test_a_judge_is_trained_and_measured(
    store: ModelStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "adapter"
    few = ["--limit", "300", "--turns", "300", "--epochs", "1", "--judge", "a", "--json"]
    assert train_turn_judge.main(["--out", str(out), *few]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["auc"] > 0.6
    assert sorted(each.name for each in out.iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]


def test_an_unknown_encoder_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--encoder", "gpt-9", "--limit", "2"]
    assert train_turn_judge.main(options) == ModelMissing.exit_code
    assert "gpt-9" in capsys.readouterr().err


def test_if_nothing_is_left_to_learn_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert train_turn_judge.main(["--judge", "a", "--limit", "1"]) == 2
    assert "there is nothing to learn" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--epochs", "0"], ["--turns", "0"], ["--rate", "fast"]])
def test_wrong_options_are_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        train_turn_judge.main(wrong)
    assert caught.value.code == 2
    assert wrong[0] in capsys.readouterr().err
