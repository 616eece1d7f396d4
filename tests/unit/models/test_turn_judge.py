"""Judging words: what is read of them, and damaged models."""

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
from models.encoder.packing import Array, PackedModel
from models.encoder.turn_judge import TURN_LIMITS, OnnxTurnJudge, without_end_marks

WIDTH = 4
WORDS = ("[UNK]", "[CLS]", "[SEP]", "set", "a", "timer", "when?")


def layers(seed: int = 1) -> dict[str, Array]:
    numbers = np.random.default_rng(seed)
    return {
        f"{name}.{part}": numbers.normal(size=each).astype(np.float32)
        for name, shape in OnnxTurnJudge.shapes(WIDTH).items()
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
        rows = np.stack([ids, np.roll(ids, 1), np.roll(ids, 2), np.arange(len(ids))], axis=1)
        return [np.sin(rows, dtype=np.float32)[None]]


@contextmanager
def opened(folder: Path, session: object) -> Iterator[OnnxTurnJudge]:
    words = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    found = OnnxTurnJudge.layers(adapter(folder, layers()), WIDTH)
    judge = OnnxTurnJudge(folder, folder)
    with patch.object(judge, "_model", PackedModel(tokenizer, session, found)):
        yield judge


def test_the_words_are_read_without_their_last_mark_and_with_the_question(tmp_path: Path) -> None:
    session = Session()
    with opened(tmp_path, session) as judge:
        found = judge.complete(" set a timer. ", "when?")
    [ids] = session.ids
    assert " ".join(WORDS[each] for each in ids) == "[CLS] set a timer [SEP] when? [SEP]"
    states = Session().run(None, {"input_ids": np.array([ids])})[0][0]
    tensors = layers()
    read = np.concatenate([states[0], states[3]])  # of [CLS] and of "timer"
    [wanted] = tensors["complete.weight"] @ read + tensors["complete.bias"]
    assert found == pytest.approx(float(wanted), abs=1e-5)


def test_of_long_words_and_a_long_question_the_ends_are_read(tmp_path: Path) -> None:
    session = Session()
    with opened(tmp_path, session) as judge:
        judge.complete("set " * 500 + "a " * TURN_LIMITS.text, "set " * 99 + "when? " * 30)
    [ids] = session.ids
    assert ids == [1, *[4] * TURN_LIMITS.text, 2, *[6] * TURN_LIMITS.item, 2]


@pytest.mark.parametrize("text", ["", " ", "...", "?!", "\t"])
def test_without_words_nothing_is_known(tmp_path: Path, text: str) -> None:
    with opened(tmp_path, Session()) as judge:
        assert judge.complete(text, "when?") == 0


@pytest.mark.parametrize("text", ["\0", "\ud800", "é" * 100_000, "word " * 9_999])
def test_unusual_text_is_judged(tmp_path: Path, text: str) -> None:
    with opened(tmp_path, Session()) as judge:
        assert np.isfinite(judge.complete(text, text))


def test_marks_within_the_words_stay() -> None:
    assert without_end_marks("Well, it's 3.5, isn't it?") == "Well, it's 3.5, isn't it"
    assert without_end_marks("and then…") == "and then"


def test_a_judge_that_is_not_loaded_or_not_prepared_says_so(tmp_path: Path) -> None:
    judge = OnnxTurnJudge(tmp_path, tmp_path)
    with pytest.raises(ModelFailed, match="before it was loaded"):
        judge.complete("set a timer")
    with pytest.raises(ModelMissing, match=r"tokenizer\.json is missing") as caught:
        judge.load()
    assert caught.value.mend == f"assistant models pull {tmp_path.name}"


def test_a_failing_model_is_reported_without_the_users_words(tmp_path: Path) -> None:
    session = Mock()
    session.run.side_effect = RuntimeError("Bad node\nwith details.")
    told = r"The model for turns failed: Bad node\."
    with pytest.raises(ModelFailed, match=told), opened(tmp_path, session) as judge:
        judge.complete("my secret")


@pytest.mark.parametrize("key", layers())
def test_an_adapter_without_a_fitting_layer_is_refused(tmp_path: Path, key: str) -> None:
    tensors = layers()
    for changed in ({key: tensors[key][..., :-1]}, {}):
        others = {name: each for name, each in tensors.items() if name != key}
        with pytest.raises(ModelCorrupt, match="adapter for turns"):
            OnnxTurnJudge.layers(adapter(tmp_path, others | changed), WIDTH)
