"""The prepared reranker judges as the trained model does, and gets plain questions right."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

from assistant.compose.adapted_models import build_reranker
from assistant.errors import ModelCorrupt, ModelMissing
from assistant.memory.retrieval.reranking import ANSWERS, OUTDATED
from assistant.settings import Persona, Settings
from models.download.cache import ModelStore
from models.encoder.reranker import OnnxReranker
from models.encoder.weights import WEIGHTS
from models.selection import select_models
from scripts.train.reranking_lessons import Vectors, person_lessons, read_people, successions

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
]

NAME = "all-minilm-l6-v2"


@pytest.fixture(scope="module")
def folder(store: ModelStore) -> Path:
    return store.location(NAME)


@pytest.fixture(scope="module")
def adapter(store: ModelStore) -> Path:
    reranker = store.catalogue.get(NAME).reranker
    assert reranker
    return reranker.path


@pytest.fixture(scope="module")
def reranker(folder: Path, adapter: Path) -> OnnxReranker:
    made = OnnxReranker(folder, adapter)
    made.load()
    return made


def all_alike(texts: Sequence[str]) -> Vectors:
    return np.zeros((len(texts), 2), np.float32)


@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.long)])
def test_probabilities_are_near_those_of_the_trained_model(
    folder: Path, adapter: Path, reranker: OnnxReranker, step: int
) -> None:
    import torch
    from transformers import AutoTokenizer

    from scripts.train.reranker import Judge, samples, succession_input

    rank = 32  # of the shipped adapter
    model = Judge(str(folder), rank, "cpu", half=False)
    model.resume(adapter)
    model.eval()
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    people, chance = read_people(all_alike, 12), Random(1)
    theirs: list[float] = []
    ours: list[float] = []
    with torch.no_grad():
        for lesson in list(person_lessons(people, chance))[::step]:
            found = model([each.made for each in samples(lesson, tokenizer)], "answers")
            theirs += found.sigmoid().tolist()
            ours += reranker.judge(lesson.question, lesson.memories)
        for each in list(successions(people, chance))[::step]:
            share = model([succession_input(each, tokenizer)], "outdated").sigmoid()
            theirs.append(float(share))
            ours.append(reranker.outdated(each.question, each.older, each.newer))
    distances = np.abs(np.subtract(theirs, ours))
    assert distances.mean() < 0.02
    assert np.quantile(distances, 0.95) < 0.08
    assert np.mean((np.array(theirs) >= ANSWERS) == (np.array(ours) >= ANSWERS)) > 0.95


MEMORIES = (
    "My sister Anna has got a spaniel called Biscuit, he eats shoes.",
    "I've got the dentist on the nineteenth, ten past nine.",
    "What's good for squeaky hinges?",
    "Dave can't come to Lisbon after all, so I've asked Priya.",
    "They rang, the dentist has moved to the twenty-fourth now.",
    "We paid six hundred and forty for the new boiler.",
    "Mum's allergic to penicillin, so they gave her something else.",
    "I left the spare key with Mr Hassan at number twelve.",
    "The car failed its MOT, it needs two new tyres.",
    "It was lovely out on the river this morning.",
)


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("What's my sister's dog called?", {0}),
        ("When is my dentist appointment?", {1, 4}),
        ("how much was the boiler", {5}),
        ("Who is coming to Lisbon with me?", {3}),
        ("What is my mother allergic to?", {6}),
        ("Who has my spare key?", {7}),
        ("What colour is my brother's car?", set()),
        ("Which school did I go to?", set()),
        ("When is Priya's birthday?", set()),
    ],
)
def test_a_plain_question_finds_its_answers_even_an_outdated_one(
    reranker: OnnxReranker, question: str, answers: set[int]
) -> None:
    shares = reranker.judge(question, MEMORIES)
    order = sorted(range(len(shares)), key=lambda each: -shares[each])
    assert {*order[: len(answers)]} == answers
    assert all(shares[each] >= 0.5 for each in answers)
    assert answers or max(shares) < ANSWERS


@pytest.mark.parametrize(
    ("question", "older", "newer", "outdated"),
    [
        ("When is my dentist appointment?", MEMORIES[1], MEMORIES[4], True),
        ("Where do I work?", "I work at the bakery.", "I've started at the library now.", True),
        (
            "What are my children called?",
            "My son is Ben.",
            "My daughter Lucy starts school.",
            False,
        ),
        ("What do I have on Friday?", MEMORIES[1], "On Friday we're at the theatre.", False),
    ],
)
def test_a_newer_answer_makes_an_older_one_outdated_only_if_it_replaces_it(
    reranker: OnnxReranker, question: str, older: str, newer: str, outdated: bool
) -> None:
    assert (reranker.outdated(question, older, newer) >= OUTDATED) is outdated


@pytest.mark.parametrize(
    "text", ["", "\0", "a\0b", "\ud800 at three", "é" * 100_000, "word " * 9999, "🙂"]
)
def test_unusual_text_is_judged(reranker: OnnxReranker, text: str) -> None:
    shares = reranker.judge(text, [text, *MEMORIES, text])
    assert len(shares) == len(MEMORIES) + 2
    assert all(0 <= each <= 1 for each in shares)
    assert 0 <= reranker.outdated(text, text, MEMORIES[0]) <= 1
    [alone, *_] = reranker.judge("Who has my spare key?", [MEMORIES[7], text])
    assert alone == pytest.approx(reranker.judge("Who has my spare key?", MEMORIES)[7], abs=1e-3)


def test_the_profile_has_a_reranker_in_english_only(folder: Path) -> None:
    selection = select_models(Settings())
    for language in ("en", "en-GB"):
        built = build_reranker(selection, Settings(persona=Persona(language=language)))
        assert built is not None
        built.load()
        assert len(built.judge("When?", MEMORIES)) == len(MEMORIES)
    assert build_reranker(selection, Settings(persona=Persona(language="de"))) is None


def test_a_missing_or_damaged_model_is_explained(
    tmp_path: Path, folder: Path, adapter: Path
) -> None:
    copy = tmp_path / NAME
    copy.mkdir()
    reranker = OnnxReranker(copy, adapter)
    shutil.copy(folder / "tokenizer.json", copy)
    with pytest.raises(ModelMissing, match=r"reranker\.int8\.onnx is missing") as missing:
        reranker.load()
    assert missing.value.mend == f"assistant models pull {NAME}"
    (copy / OnnxReranker.GRAPH).write_bytes(b"no model")
    with pytest.raises(ModelCorrupt, match="can't be read"):
        reranker.load()
    shutil.copy(folder / OnnxReranker.GRAPH, copy)
    with pytest.raises(ModelCorrupt, match=rf"can't be read: .*{WEIGHTS}") as damaged:
        reranker.load()
    assert damaged.value.mend == f"assistant models pull {NAME}"
    shutil.copy(folder / WEIGHTS, copy)
    with pytest.raises(ModelCorrupt, match="adapter for judging memories"):
        OnnxReranker(copy, tmp_path / "nowhere").load()
    reranker.load()
