"""The prepared reader of slots finds what the trained model does, and fills in plain answers."""

import shutil
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant.compose.adapted_models import build_slot_reader
from assistant.errors import ModelCorrupt, ModelMissing
from assistant.forms import Form, FormReader, Slot, Value
from assistant.forms.described import described
from assistant.settings import Persona, Settings
from models.download.cache import ModelStore
from models.encoder.preparation import main
from models.encoder.slots import ACTS, OnnxSlotReader
from models.encoder.weights import WEIGHTS
from models.interfaces import SlotAct
from models.selection import select_models
from scripts.train.slot_lessons import Lesson, read_lessons
from scripts.train.slot_samples import sample
from tests.support.slot_reader import shipped_form

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
]

NAME = "all-minilm-l6-v2"
TODAY = date(2026, 11, 18)
"""A Wednesday."""


@pytest.fixture(scope="module")
def folder(store: ModelStore) -> Path:
    return store.location(NAME)


@pytest.fixture(scope="module")
def adapter(store: ModelStore) -> Path:
    slots = store.catalogue.get(NAME).slots
    assert slots
    return slots.path


@pytest.fixture(scope="module")
def reader(folder: Path, adapter: Path) -> OnnxSlotReader:
    made = OnnxSlotReader(folder, adapter)
    made.load()
    return made


def trained(folder: Path, adapter: Path, lessons: Sequence[Lesson]) -> Iterator[tuple[Any, ...]]:
    """What torch and peft compute for each lesson: the probabilities of the acts, the marks of the
    tokens, and the probability that more was said."""
    import torch
    from transformers import AutoTokenizer

    from scripts.train.slots import Reader

    rank = 32  # of the shipped adapter
    model = Reader(str(folder), rank, "cpu", half=False)
    model.resume(adapter)
    model.eval()
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    with torch.no_grad():
        for each in lessons:
            made = sample(each, tokenizer, None)
            acts, marks, talk = model([made])
            kinds = [slot for slot, option in enumerate(made.options) if not option]
            yield (
                acts[0, kinds].softmax(-1).numpy(),
                marks[0, kinds].argmax(-1).numpy() > 0,
                float(talk.sigmoid()),
            )


@pytest.mark.parametrize("step", [480, pytest.param(30, marks=pytest.mark.long)])
def test_probabilities_and_words_are_near_those_of_the_trained_model(
    folder: Path, adapter: Path, reader: OnnxSlotReader, step: int
) -> None:
    lessons = read_lessons()[::step]
    distances, talks, same, marked = [], [], [], []
    for lesson, (acts, words, talk) in zip(lessons, trained(folder, adapter, lessons), strict=True):
        slots = [
            described(each, lesson.filled.get(each.name, ""), asked=each.name == lesson.asked)
            for each in lesson.form.slots
        ]
        found = reader.read(lesson.said, slots)
        ours = np.array([[each.acts[act] for act in ACTS] for each in found.slots])
        np.testing.assert_allclose(ours.sum(axis=1), 1, atol=1e-5)
        distances.append(np.abs(ours - acts).mean())
        same += (ours.argmax(axis=1) == acts.argmax(axis=1)).tolist()
        talks.append(abs(found.talk - talk))
        for each, given, its in zip(found.slots, acts, words, strict=True):
            if given.argmax() != ACTS.index(SlotAct.NOTHING) and not each.options:
                marked.append(bool(each.words) == bool(its.any()))
    assert np.mean(distances) < 0.01
    assert np.mean(talks) < 0.03
    assert np.mean(same) > 0.98
    assert np.mean(marked) > 0.95


PLAIN: Sequence[tuple[str, str, str, Value]] = [
    ("appointment", "with", "Doctor Smith.", "Doctor Smith"),
    ("appointment", "day", "On Friday.", "2026-11-20"),
    ("appointment", "time", "At half past nine.", "09:30"),
    ("appointment", "minutes", "Thirty minutes.", 30),
    ("appointment", "online", "No.", False),
    ("medical_intake", "since", "Since yesterday.", "2026-11-17"),
    ("medical_intake", "severity", "Seven.", 7),
    ("medical_intake", "smoker", "Yes.", True),
    ("shopping_trip", "items", "Milk, eggs and bread.", ["Milk", "eggs", "bread"]),
    ("shopping_trip", "budget", "Fifty euros.", 50),
]


@pytest.mark.parametrize(("key", "asked", "said", "value"), PLAIN)
def test_plain_answers_are_filled_in(
    reader: OnnxSlotReader, key: str, asked: str, said: str, value: Value
) -> None:
    found = FormReader(reader).fill(shipped_form(key), {}, asked, said, TODAY)
    assert [(each.slot, each.value) for each in found.proposals] == [(asked, value)]


def test_a_form_with_sixty_slots_is_read(reader: OnnxSlotReader) -> None:
    asks = [f"What is the serial number of the machine in room {number}?" for number in range(59)]
    others = [
        Slot.model_validate({"name": f"room{number}", "type": "text", "ask": ask})
        for number, ask in enumerate(asks)
    ]
    day = Slot.model_validate({"name": "day", "type": "date", "ask": "On which day?"})
    for slots in ((day, *others), (*others, day)):
        form = Form(key="rooms", title="Rooms", slots=slots)
        found = FormReader(reader).fill(form, {}, "day", "On Friday.", TODAY)
        assert ("day", "2026-11-20") in [(each.slot, each.value) for each in found.proposals]


@pytest.mark.parametrize(
    "text", ["\0", "a\0b", "\ud800 at three", "x\udfff y", "é" * 100_000, "word " * 9999, "🙂"]
)
def test_unusual_text_is_read(reader: OnnxSlotReader, text: str) -> None:
    slots = [described(each, "", asked=False) for each in shipped_form("shopping_trip").slots]
    found = reader.read(text, slots)
    assert len(found.slots) == len(slots)
    assert 0 <= found.talk <= 1
    for each in found.slots:
        assert sum(each.acts.values()) == pytest.approx(1, abs=1e-5)
        assert all(0 <= words.start < words.end <= len(text) for words in each.words)


def test_the_profile_has_a_reader_in_english_only(folder: Path) -> None:
    selection = select_models(Settings())
    for language in ("en", "en-GB"):
        built = build_slot_reader(selection, Settings(persona=Persona(language=language)))
        assert built is not None
        built.load()
        assert len(built.read("hello", [described(PARCEL, "", asked=True)]).slots) == 1
    assert build_slot_reader(selection, Settings(persona=Persona(language="de"))) is None


PARCEL = Slot.model_validate({"name": "weight", "type": "number", "ask": "How heavy is it?"})


def test_a_missing_or_damaged_model_is_explained(
    tmp_path: Path, folder: Path, adapter: Path
) -> None:
    copy = tmp_path / NAME
    copy.mkdir()
    reader = OnnxSlotReader(copy, adapter)
    shutil.copy(folder / "tokenizer.json", copy)
    with pytest.raises(ModelMissing, match=r"slots\.int8\.onnx is missing") as missing:
        reader.load()
    assert missing.value.mend == f"assistant models pull {NAME}"
    (copy / OnnxSlotReader.GRAPH).write_bytes(b"no model")
    with pytest.raises(ModelCorrupt, match="can't be read"):
        reader.load()
    shutil.copy(folder / OnnxSlotReader.GRAPH, copy)
    with pytest.raises(ModelCorrupt, match=rf"can't be read: .*{WEIGHTS}") as damaged:
        reader.load()
    assert damaged.value.mend == f"assistant models pull {NAME}"
    shutil.copy(folder / WEIGHTS, copy)
    with pytest.raises(ModelCorrupt, match="adapter for forms"):
        OnnxSlotReader(copy, tmp_path / "nowhere").load()
    reader.load()


def test_an_adapter_without_fitting_layers_is_not_prepared(
    tmp_path: Path, folder: Path, adapter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from safetensors.numpy import load_file, save_file

    copy, wrong = tmp_path / NAME, tmp_path / "adapter"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*.onnx"))
    shutil.copytree(adapter, wrong)
    weights = load_file(adapter / "adapter_model.safetensors")
    narrow = weights | {"talk.weight": weights["talk.weight"][:, :9].copy()}
    save_file(narrow, wrong / "adapter_model.safetensors")
    assert main([str(copy), "--slots", str(wrong)]) == ModelCorrupt.exit_code
    assert "adapter for forms" in capsys.readouterr().err
    assert not (copy / OnnxSlotReader.GRAPH).exists()
