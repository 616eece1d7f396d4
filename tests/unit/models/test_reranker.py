"""Judging memories: what the layers read, which memories fit, and damaged models."""

from collections.abc import Iterator
from contextlib import contextmanager
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
from models.encoder.reranker import MEMORY_LIMITS, OnnxReranker

WIDTH = 4
WORDS = ("[UNK]", "[CLS]", "[SEP]", "when", "dentist", "tuesday", "friday", "dog")


def layers(seed: int = 1) -> dict[str, Array]:
    numbers = np.random.default_rng(seed)
    return {
        f"{name}.{part}": numbers.normal(size=each).astype(np.float32)
        for name, shape in OnnxReranker.shapes(WIDTH).items()
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


@contextmanager
def opened(folder: Path, session: object) -> Iterator[OnnxReranker]:
    words = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    found = OnnxReranker.layers(adapter(folder, layers()), WIDTH)
    reranker = OnnxReranker(folder, folder)
    model = PackedModel(tokenizer, session, found)
    with patch.object(reranker, "_model", model):
        yield reranker


def judge(
    folder: Path, question: str, memories: list[str], session: object | None = None
) -> list[float]:
    with opened(folder, session or Session()) as reranker:
        return reranker.judge(question, memories)


def test_each_memory_is_read_with_the_question_alone(tmp_path: Path) -> None:
    session = Session()
    memories = ["dentist tuesday", "dog"]
    found = judge(tmp_path, "when dentist", memories, session)
    assert [" ".join(WORDS[each] for each in ids) for ids in session.ids] == [
        "[CLS] when dentist [SEP] dentist tuesday [SEP]",
        "[CLS] when dentist [SEP] dog [SEP]",
    ]
    tensors = layers()
    for share, ids in zip(found, session.ids, strict=True):
        first = Session().run(None, {"input_ids": np.array([ids])})[0][0, 0]
        [wanted] = sigmoid(tensors["answers.weight"] @ first + tensors["answers.bias"])
        assert share == pytest.approx(float(wanted), abs=1e-6)


def test_whether_a_newer_memory_makes_an_older_one_outdated_is_read_from_both(
    tmp_path: Path,
) -> None:
    session = Session()
    with opened(tmp_path, session) as reranker:
        share = reranker.outdated("when dentist", "dentist tuesday", "dentist friday")
    [ids] = session.ids
    made = "[CLS] when dentist [SEP] dentist tuesday [SEP] dentist friday [SEP]"
    assert " ".join(WORDS[each] for each in ids) == made
    first = Session().run(None, {"input_ids": np.array([ids])})[0][0, 0]
    tensors = layers()
    [wanted] = sigmoid(tensors["outdated.weight"] @ first + tensors["outdated.bias"])
    assert share == pytest.approx(float(wanted), abs=1e-6)


def test_without_memories_nothing_is_judged(tmp_path: Path) -> None:
    assert judge(tmp_path, "when dentist", []) == []


def test_the_ends_of_a_long_question_and_memory_are_not_read(tmp_path: Path) -> None:
    session = Session()
    judge(tmp_path, "when " * 99, ["dog " * 99], session)
    text, item = MEMORY_LIMITS.text, MEMORY_LIMITS.item
    assert session.ids == [[1, *[3] * text, 2, *[7] * item, 2]]


@pytest.mark.parametrize("text", ["", " ", "\0", "\ud800", "é" * 100_000, "word " * 9_999])
def test_unusual_text_is_judged(tmp_path: Path, text: str) -> None:
    found = judge(tmp_path, text, [text, "dentist friday"])
    assert len(found) == 2
    assert all(0 <= each <= 1 for each in found)


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
    with pytest.raises(ModelFailed, match=r"The model for judging memories failed: Bad node\."):
        judge(tmp_path, "my secret", ["my other secret"], session)


@pytest.mark.parametrize("key", layers())
def test_an_adapter_without_fitting_layers_is_refused(tmp_path: Path, key: str) -> None:
    whole = layers()
    with pytest.raises(ModelCorrupt, match="adapter for judging memories"):
        OnnxReranker.layers(adapter(tmp_path, whole), WIDTH + 1)
    absent = {each: value for each, value in whole.items() if each != key}
    with pytest.raises(ModelCorrupt, match=r"adapter for judging memories in .* can't be read"):
        OnnxReranker.layers(adapter(tmp_path, absent), WIDTH)
