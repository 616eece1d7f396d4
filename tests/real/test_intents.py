"""The prepared classifier of intents gives the probabilities and words of the trained model."""

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from assistant.compose.adapted_models import build_intent_classifier
from assistant.context.not_known import NOT_ONLINE
from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing
from assistant.intents import CommandKind
from assistant.intents.intent_recogniser import intent_of
from assistant.intents.recogniser import recognise
from assistant.settings import Persona, Settings
from data import located
from models.download.cache import ModelStore
from models.encoder.intents import INTENTS, KINDS, OnnxIntentClassifier, read_kinds
from models.encoder.preparation import main
from models.encoder.weights import WEIGHTS
from models.selection import ModelSelection, select_models
from scripts.common.rows import read_rows
from scripts.common.utterances import CLAIM
from tests.support.fakes import ScriptedLlm, ScriptedStt, silence
from tests.support.patience import PATIENCE_S
from tests.support.session import session

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The PEFT config's `base_model_name_or_path`:UserWarning"),
]

NAME = "all-minilm-l6-v2"
WORDED = [
    "Please forget everything I told you about my old landlord in Cardiff, Ada.",
    "remember that my locker code is 4471",
    "What do you know about Müller-Straße and Zoë's café?",
]


@pytest.fixture(scope="module")
def folder(store: ModelStore) -> Path:
    return store.location(NAME)


@pytest.fixture(scope="module")
def adapter(store: ModelStore) -> Path:
    intents = store.catalogue.get(NAME).intents
    assert intents
    return intents.path


@pytest.fixture(scope="module")
def classifier(folder: Path, adapter: Path) -> OnnxIntentClassifier:
    made = OnnxIntentClassifier(folder, adapter)
    made.load()
    return made


def reference(
    folder: Path, adapter: Path, texts: list[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each text's probabilities as torch and peft compute them, the share of its tokens that are
    marked, and the probability that what it asks for can't be known."""
    import torch
    from peft import PeftModel
    from safetensors.torch import load_file
    from transformers import AutoModel, AutoTokenizer

    model: Any = PeftModel.from_pretrained(AutoModel.from_pretrained(str(folder)), str(adapter))
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    weights = load_file(adapter / "adapter_model.safetensors")
    heads = {name: weight.float() for name, weight in weights.items()}
    temperature = read_kinds(adapter).temperature
    probabilities, marked, unknowable = [], [], []
    with torch.no_grad():
        for text in texts:
            given = tokenizer(text, truncation=True, max_length=64, return_tensors="pt")
            x = model.eval()(**given).last_hidden_state[0]
            both = torch.cat([x[0], x.mean(0)])
            logits = heads["intents.weight"] @ both + heads["intents.bias"]
            probabilities.append(torch.softmax(logits / temperature, -1).numpy())
            spans = x @ heads["spans.weight"].T + heads["spans.bias"]
            marked.append(float(spans.argmax(-1).float().mean()))
            known = heads["knowable.weight"] @ both + heads["knowable.bias"]
            unknowable.append(1 - float(torch.softmax(known, -1)[0]))
    return np.array(probabilities), np.array(marked), np.array(unknowable)


@pytest.mark.parametrize("step", [200, pytest.param(40, marks=pytest.mark.long)])
def test_probabilities_are_near_those_of_the_trained_model(
    folder: Path, adapter: Path, classifier: OnnxIntentClassifier, step: int
) -> None:
    rows = read_rows(located("training/intents.jsonl"))[::step]
    texts = [row["said"] for row in rows]
    truth, marked, unknowable = reference(folder, adapter, texts)

    found = [classifier.classify(text) for text in texts]

    kinds = read_kinds(adapter).kinds
    assert set(kinds[1:]) <= {CLAIM, *(kind.value for kind in CommandKind)}
    ours = np.array([[each.probabilities.get(kind, 0.0) for kind in kinds] for each in found])
    ours[:, 0] = 1 - ours.sum(axis=1)
    assert np.abs(ours - truth).mean() < 0.005
    assert (ours.argmax(axis=1) == truth.argmax(axis=1)).mean() > 0.97
    assert np.abs(np.array([each.unknowable for each in found]) - unknowable).mean() < 0.03
    some = np.array([bool(each.words or each.when or each.name) for each in found])
    assert (some == (marked > 0)).mean() > 0.95
    for each, text in zip(found, texts, strict=True):
        assert each.words is None or each.words in text


def test_words_are_cut_from_the_utterance_itself(classifier: OnnxIntentClassifier) -> None:
    landlord, locker, street = (classifier.classify(text) for text in WORDED)

    assert landlord.words == "my old landlord in Cardiff"
    assert max(landlord.probabilities, key=landlord.probabilities.__getitem__) == "forget_about"
    assert locker.words == "my locker code is 4471"
    assert street.words is not None
    assert street.words in WORDED[2]
    assert classifier.classify("Please remember that for me.").words is None


async def test_the_model_is_asked_about_the_sky_but_not_about_the_weather(
    tmp_path: Path, classifier: OnnxIntentClassifier
) -> None:
    llm, said = ScriptedLlm(), ("why is the sky blue", "what's the weather like tomorrow")
    parts = (ScriptedStt("-"), llm, silence(0.1), tmp_path)
    async with session(*parts, classifier=classifier, speaks=False) as talk:
        until = time.monotonic() + PATIENCE_S
        while not talk.turns or talk.turns[-1].assistant != NOT_ONLINE:  # it may still be loading
            assert time.monotonic() < until
            llm.requests.clear()
            for line in said:
                await talk.loop.say(line)
                await talk.loop.settled()
    assert [each.messages[-1].content.splitlines()[-1] for each in llm.requests] == [said[0]]


@pytest.mark.parametrize(
    "text",
    ["", " ", "\0", "a\0b", "\ud800 forget that", "x\udfff y", "é" * 100_000, "word " * 9999],
)
def test_unusual_text_is_classified(classifier: OnnxIntentClassifier, text: str) -> None:
    found = classifier.classify(text)

    assert min(found.probabilities.values()) >= 0
    assert sum(found.probabilities.values()) <= 1 + 1e-6
    assert 0 <= found.unknowable <= 1
    assert found.words is None or found.words in text


def selection() -> ModelSelection:
    return select_models(Settings())


def test_the_profile_has_a_classifier_in_english_only(folder: Path) -> None:
    for language in ("en", "en-GB"):
        built = build_intent_classifier(selection(), Settings(persona=Persona(language=language)))
        assert built is not None
        built.load()
        assert built.classify("Forget that.").probabilities["forget_that"] > 0.5
    other = Settings(persona=Persona(language="de"))
    assert build_intent_classifier(selection(), other) is None


def test_a_missing_or_damaged_model_is_explained(
    tmp_path: Path, folder: Path, adapter: Path
) -> None:
    empty = replace(selection(), store=replace(selection().store, cache=tmp_path / "none"))
    with pytest.raises(ModelMissing) as caught:
        build_intent_classifier(empty, Settings())
    assert caught.value.mend == f"assistant models pull {NAME}"

    copy = tmp_path / NAME
    copy.mkdir()
    classifier = OnnxIntentClassifier(copy, adapter)
    with pytest.raises(ModelFailed, match="before it was loaded"):
        classifier.classify("Forget that.")
    shutil.copy(folder / "tokenizer.json", copy)
    with pytest.raises(ModelMissing, match=r"intents\.int8\.onnx is missing") as caught:
        classifier.load()
    assert caught.value.mend == f"assistant models pull {NAME}"
    (copy / INTENTS).write_bytes(b"no model")
    with pytest.raises(ModelCorrupt, match="can't be read"):
        classifier.load()
    shutil.copy(folder / INTENTS, copy)
    with pytest.raises(ModelCorrupt, match=rf"can't be read: .*{WEIGHTS}") as damaged:
        classifier.load()
    assert damaged.value.mend == f"assistant models pull {NAME}"
    shutil.copy(folder / WEIGHTS, copy)
    other = tmp_path / "adapter"
    other.mkdir()
    described = json.loads((adapter / KINDS).read_text(encoding="utf-8"))
    described["kinds"].pop()
    (other / KINDS).write_text(json.dumps(described), encoding="utf-8")
    with pytest.raises(ModelCorrupt, match="doesn't have the kinds"):
        OnnxIntentClassifier(copy, other).load()
    older = onnx.load(folder / INTENTS, load_external_data=False)
    del older.graph.output[2:]
    (copy / INTENTS).write_bytes(older.SerializeToString())
    with pytest.raises(ModelCorrupt, match="prepared by another version"):
        OnnxIntentClassifier(copy, adapter).load()


def test_an_adapter_without_fitting_heads_is_refused(
    tmp_path: Path, folder: Path, adapter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from safetensors.numpy import load_file, save_file

    copy = tmp_path / NAME
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*.onnx"))
    wrong = tmp_path / "adapter"
    shutil.copytree(adapter, wrong)
    weights = load_file(adapter / "adapter_model.safetensors")
    narrow = weights | {"spans.weight": weights["spans.weight"][:, :9].copy()}
    absent = {name: each for name, each in weights.items() if name != "intents.bias"}
    less = {name: each for name, each in weights.items() if name != "knowable.bias"}
    for changed in (narrow, absent, less):
        save_file(changed, wrong / "adapter_model.safetensors")
        assert main([str(copy), "--intents", str(wrong)]) == ModelCorrupt.exit_code
        assert "adapter for intents" in capsys.readouterr().err
    for added in ("knowable", "told"):
        before = {name: each for name, each in weights.items() if not name.startswith(added)}
        save_file(before, wrong / "adapter_model.safetensors")
        assert main([str(copy), "--intents", str(wrong)]) == ModelCorrupt.exit_code
        assert (
            f"no layer `{added}`, which scripts/train_knowable.py adds" in capsys.readouterr().err
        )
    (wrong / KINDS).unlink()
    assert main([str(copy), "--intents", str(wrong)]) == ModelCorrupt.exit_code
    assert KINDS in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("On what date did I send off the sonographer form?", None),
        ("What day was it I told you about the sonographer form?", CommandKind.WHEN_TOLD),
    ],
)
def test_when_something_happened_is_another_question_than_when_it_was_told(
    classifier: OnnxIntentClassifier, said: str, kind: CommandKind | None
) -> None:
    intent = intent_of(recognise(said), classifier.classify(said), said)
    assert (intent.command.kind if intent is not None else None) == kind
