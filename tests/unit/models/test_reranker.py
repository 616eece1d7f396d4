"""Judging memories: what the layers read, which memories fit, and damaged models."""

from pathlib import Path
from unittest.mock import Mock, patch

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing
from models.encoder.packing import Array, PackedModel, sigmoid
from models.encoder.reranker import (
    MEMORY_LIMITS,
    OnnxReranker,
    judging_shapes,
    read_judging_layers,
)
from models.interfaces import JudgedMemories, JudgedMemory

WIDTH = 4
WORDS = ("[UNK]", "[CLS]", "[SEP]", "when", "dentist", "tuesday", "friday", "dog")


def layers(seed: int = 1) -> dict[str, Array]:
    numbers = np.random.default_rng(seed)
    return {
        f"{name}.{part}": numbers.normal(size=each).astype(np.float32)
        for name, shape in judging_shapes(WIDTH).items()
        for part, each in (("weight", shape), ("bias", shape[:1]))
    }


def adapter(folder: Path, tensors: dict[str, Array]) -> Path:
    save_file(tensors, folder / "adapter_model.safetensors")
    return folder


class Session:
    """In place of onnxruntime's: the state of a token is made of its place and the ids before."""

    def __init__(self) -> None:
        self.ids: list[list[int]] = []

    def run(self, _: object, given: dict[str, NDArray[np.int64]]) -> list[Array]:
        [ids] = given["input_ids"]
        self.ids.append(ids.tolist())
        place = np.arange(len(ids))
        rows = np.stack([ids, np.roll(ids, 1), np.roll(ids, 2), place], axis=1)
        return [np.sin(rows, dtype=np.float32)[None]]


def judge(
    folder: Path, question: str, memories: list[str], session: object | None = None
) -> JudgedMemories:
    words = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    found = read_judging_layers(adapter(folder, layers()), WIDTH)
    reranker = OnnxReranker(folder, folder)
    model = PackedModel(tokenizer, session or Session(), found)
    with patch.object(reranker, "_model", model):
        return reranker.judge(question, memories)


def test_the_layers_read_the_separators_of_the_memory_and_of_the_question(tmp_path: Path) -> None:
    session = Session()
    memories = ["dentist tuesday", "dog", "dentist friday"]
    found = judge(tmp_path, "when dentist", memories, session)
    [ids] = session.ids
    made = "[CLS] when dentist [SEP] dentist tuesday [SEP] dog [SEP] dentist friday [SEP]"
    assert " ".join(WORDS[each] for each in ids) == made
    states = Session().run(None, {"input_ids": np.array([ids])})[0][0]
    whole, question = states[0], states[3]
    tensors = layers()
    for memory, end in zip(found.memories, (6, 8, 11), strict=True):
        read = np.concatenate([states[end], whole, states[end] * question])
        shares = sigmoid(tensors["memory.weight"] @ read + tensors["memory.bias"])
        assert memory is not None
        assert [memory.answers, memory.outdated] == pytest.approx(shares.tolist(), abs=1e-6)
    both = np.concatenate([whole, question])
    [unanswered] = sigmoid(tensors["unanswered.weight"] @ both + tensors["unanswered.bias"])
    assert found.unanswered == pytest.approx(float(unanswered), abs=1e-6)


def test_without_memories_nothing_is_answered(tmp_path: Path) -> None:
    assert judge(tmp_path, "when dentist", []) == JudgedMemories((), 1.0)


@pytest.mark.parametrize(("length", "fitting"), [(12, 12), (20, 12), (35, 10), (40, 9), (90, 9)])
def test_memories_that_do_not_fit_are_not_judged(tmp_path: Path, length: int, fitting: int) -> None:
    session = Session()
    found = judge(tmp_path, "when " * 99, [" ".join(["dog"] * length)] * 12, session)
    [ids] = session.ids
    assert ids[: MEMORY_LIMITS.text + 2] == [1, *[3] * MEMORY_LIMITS.text, 2]
    assert len(ids) == MEMORY_LIMITS.text + 2 + fitting * (min(length, MEMORY_LIMITS.item) + 1)
    assert len(ids) <= MEMORY_LIMITS.at_once
    judged = [each for each in found.memories if each is not None]
    assert len(judged) == fitting
    assert found.memories == (*judged, *[None] * (12 - fitting))


@pytest.mark.parametrize("text", ["", " ", "\0", "\ud800", "é" * 100_000, "word " * 9_999])
def test_unusual_text_is_judged(tmp_path: Path, text: str) -> None:
    found = judge(tmp_path, text, [text, "dentist friday"])
    assert all(isinstance(each, JudgedMemory) for each in found.memories)
    assert 0 <= found.unanswered <= 1


def test_a_reranker_that_is_not_loaded_or_not_prepared_says_so(tmp_path: Path) -> None:
    reranker = OnnxReranker(tmp_path, tmp_path)
    with pytest.raises(ModelFailed, match="before it was loaded"):
        reranker.judge("when dentist", ["dog"])
    with pytest.raises(ModelMissing, match=r"tokenizer\.json is missing") as caught:
        reranker.load()
    assert caught.value.mend == f"assistant models pull {tmp_path.name}"


def test_a_failing_model_is_reported_without_the_users_words(tmp_path: Path) -> None:
    session = Mock()
    session.run.side_effect = RuntimeError("Bad node\nwith details.")
    with pytest.raises(ModelFailed, match=r"The model for ranking memories failed: Bad node\."):
        judge(tmp_path, "my secret", ["my other secret"], session)


@pytest.mark.parametrize("key", layers())
def test_an_adapter_without_fitting_layers_is_refused(tmp_path: Path, key: str) -> None:
    whole = layers()
    with pytest.raises(ModelCorrupt, match="adapter for ranking memories"):
        read_judging_layers(adapter(tmp_path, whole), WIDTH + 1)
    absent = {each: value for each, value in whole.items() if each != key}
    with pytest.raises(ModelCorrupt, match=r"adapter for ranking memories in .* can't be read"):
        read_judging_layers(adapter(tmp_path, absent), WIDTH)
