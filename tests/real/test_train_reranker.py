"""Training the reranker: steps make it better, and what is prepared judges as what was trained."""

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from random import Random

import numpy as np
import pytest

from assistant.errors import ModelCorrupt, ModelMissing
from models.download.cache import ModelStore
from models.encoder.preparation import main
from models.encoder.reranker import OnnxReranker
from scripts import train_reranker
from scripts.train.reranking_lessons import Lesson, Vectors, person_lessons, read_people
from tests.support.small_bert import WIDTH, publish

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
]

FIGURES = {"told", "first_1", "first_3", "outdated", "encoder_first_1", "encoder_first_3"}
FIGURES |= {f"caught_at_{kept}" for kept in (0.95, 0.9, 0.8)}


def encode(texts: Sequence[str]) -> Vectors:
    """Vectors that are near to each other if the texts have the same letters."""
    counts = np.array([[text.count(each) for each in "adeghilmnorstuwy"] for text in texts])
    return np.asarray(counts / (1 + np.linalg.norm(counts, axis=1, keepdims=True)), np.float32)


def words(lessons: Sequence[Lesson]) -> Iterator[str]:
    texts = chain.from_iterable((each.question, *each.memories) for each in lessons)
    yield from sorted({word for text in texts for word in text.split() if word.isalpha()})


def test_steps_lower_the_loss_and_the_prepared_model_judges_as_the_trained_one(
    store: ModelStore, tmp_path: Path
) -> None:
    import torch
    from transformers import AutoTokenizer

    from scripts.train.lora import Optimiser
    from scripts.train.reranker import Judge, judged, loss_of, samples

    people = read_people(encode, 2)
    lessons = list(person_lessons(people, Random(1)))[::4]
    folder, out = tmp_path / "bert", tmp_path / "adapter"
    folder.mkdir()
    publish(folder, words(lessons))
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    model = Judge(str(folder), 4, "cpu", half=False)
    batch = [samples(each, tokenizer) for each in lessons]
    steps = 60
    optimiser = Optimiser(model.trained, 0.03, steps)
    model.eval()
    first = loss_of(model, batch).item()
    for _ in range(steps):
        optimiser.step(loss_of(model, batch))
    last = loss_of(model, batch).item()
    assert 0 < last < 0.8 * first
    figures = judged(model, tokenizer, people)
    assert figures.keys() == FIGURES
    assert all(0 <= each <= 1 for each in figures.values())

    model.save(store.catalogue.get("all-minilm-l6-v2"), out)
    assert OnnxReranker.layers(out, WIDTH).keys() == OnnxReranker.shapes(WIDTH).keys()
    again = Judge(str(folder), 4, "cpu", half=False).eval()
    again.resume(out)
    with torch.no_grad():
        assert loss_of(again, batch).item() == pytest.approx(last, rel=0.02)

    assert main([str(folder), "--reranker", str(out)]) == 0
    reranker = OnnxReranker(folder, out)
    reranker.load()
    distances: list[float] = []
    for lesson, each in zip(lessons, batch, strict=True):
        with torch.no_grad():
            wanted = again([one.made for one in each], "answers").sigmoid().numpy()
        found = reranker.judge(lesson.question, lesson.memories)
        distances += np.abs(wanted - found).tolist()
    assert np.mean(distances) < 0.03


def test_an_adapter_without_fitting_layers_is_not_prepared(
    store: ModelStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slots = store.catalogue.get("all-minilm-l6-v2").slots
    assert slots
    publish(tmp_path, ["word"])
    assert main([str(tmp_path), "--reranker", str(slots.path)]) == ModelCorrupt.exit_code
    assert "adapter for judging memories" in capsys.readouterr().err
    assert not (tmp_path / OnnxReranker.GRAPH).exists()


@pytest.mark.long
def test_a_reranker_is_trained_and_measured(
    store: ModelStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "adapter"
    few = ["--limit", "10", "--statements", "20", "--epochs", "1", "--judge", "ra", "--json"]
    assert train_reranker.main(["--out", str(out), *few]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["learnt"] > 100
    assert figures.keys() >= FIGURES
    assert sorted(each.name for each in out.iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]


def test_an_unknown_encoder_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert train_reranker.main(["--encoder", "gpt-9", "--limit", "2"]) == ModelMissing.exit_code
    assert "gpt-9" in capsys.readouterr().err


def test_if_nothing_is_left_to_learn_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert train_reranker.main(["--judge", "r", "--limit", "1"]) == 2
    assert "there is nothing to learn" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--epochs", "0"], ["--statements", "0"], ["--rate", "fast"]])
def test_wrong_options_are_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        train_reranker.main(wrong)
    assert caught.value.code == 2
    assert wrong[0] in capsys.readouterr().err
