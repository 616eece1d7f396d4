"""Reading the slots of a form: which words are marked, and how several calls are combined."""

import re
from itertools import pairwise, product
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing
from models.encoder.packing import PackedModel
from models.encoder.slots import (
    ACTS,
    FIRST,
    FIRST_REMOVED,
    INSIDE,
    MARKS,
    OUTSIDE,
    REMOVED,
    SLOT_LIMITS,
    OnnxSlotReader,
    likeliest_marks,
    marked_parts,
)
from models.interfaces import DescribedSlot, ReadUtterance, SlotAct

TEXT = "No eggs, but oat milk and Zoë's tea"
OFFSETS = [(0, 2), (3, 7), (7, 8), (9, 12), (13, 16), (17, 19), (19, 21), (22, 25), (26, 29)]
OFFSETS += [(29, 30), (30, 31), (32, 35)]
"""As a tokenizer reads it that doesn't know "milk": No eggs , but oat mi lk and Zoë ' s tea."""
LETTERS = {".": OUTSIDE, "F": FIRST, "i": INSIDE, "R": FIRST_REMOVED, "r": REMOVED}
LETTER = {mark: letter for letter, mark in LETTERS.items()}
WIDTH = 4
CLS, SEP = 1, 2


# -- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marks", "parts"),
    [
        ("............", []),
        ("....Fii....F", ["oat milk", "tea"]),
        (".....F......", ["milk"]),
        (".....FF.....", ["milk"]),
        ("....FFi.....", ["oat", "milk"]),
        ("......F.....", ["milk"]),
        (".....FR.....", ["milk"]),
        ("....FiiiFiii", ["oat milk and", "Zoë's tea"]),
        (".R..Fii.....", ["-eggs", "oat milk"]),
        ("....Rrr.....", ["-oat milk"]),
        ("Fiiiiiiiiiii", [TEXT]),
        (".F", ["eggs"]),
    ],
)
def test_marked_tokens_give_whole_words_in_their_order(marks: str, parts: list[str]) -> None:
    found = marked_parts(TEXT, OFFSETS, [LETTERS[each] for each in marks])
    assert ["-" * each.removed + TEXT[each.start : each.end] for each in found] == parts
    assert all(one.end <= other.start for one, other in pairwise(found))


@pytest.mark.parametrize("seed", range(20))
def test_the_likeliest_marks_are_those_in_which_each_part_begins_with_a_first_token(
    seed: int,
) -> None:
    shares = np.random.default_rng(seed).dirichlet(np.ones(MARKS), size=seed % 5)
    allowed = re.compile(r"(?:\.|Fi*|Rr*)*")
    every = product(range(MARKS), repeat=len(shares))
    fitting = [
        marks for marks in every if allowed.fullmatch("".join(LETTER[mark] for mark in marks))
    ]
    best = max(
        fitting,
        key=lambda marks: np.prod([row[mark] for row, mark in zip(shares, marks, strict=True)]),
    )
    assert likeliest_marks(shares.astype(np.float32)) == [*best]


def test_a_part_is_taken_off_or_not_as_a_whole() -> None:
    """ "green" alone is likelier to be added, but "green banana" is likelier to be taken off."""
    shares = np.full((2, MARKS), 0.01, np.float32)
    shares[0, [FIRST, FIRST_REMOVED]] = 0.5, 0.4
    shares[1, [INSIDE, REMOVED]] = 0.1, 0.8
    assert likeliest_marks(shares) == [FIRST_REMOVED, REMOVED]


# -- calls ------------------------------------------------------------------------------------


def heads() -> dict[str, NDArray[np.float32]]:
    """Layers with which a slot has the act VALUE if its state begins with 1, and more was said if
    the first state ends with 1. All tokens are marked as FIRST."""
    made: dict[str, NDArray[np.float32]] = {}
    for name, shape in OnnxSlotReader.shapes(WIDTH).items():
        made[f"{name}.weight"] = np.zeros(shape, np.float32)
        made[f"{name}.bias"] = np.zeros(shape[0], np.float32)
    made["acts.bias"][ACTS.index(SlotAct.NOTHING)] = 5
    made["acts.weight"][ACTS.index(SlotAct.VALUE), 0] = 10
    made["marks.bias"][FIRST] = 5
    made["talk.weight"][0, -1] = 10
    made["talk.bias"][0] = -5
    return made


def adapter(folder: Path, layers: dict[str, Any]) -> Path:
    save_file(layers, folder / "adapter_model.safetensors")
    return folder


class Session:
    """In place of onnxruntime's: the slot with the token `gives` has the act VALUE. More seems to
    be said unless one is among the slots."""

    def __init__(self, gives: int) -> None:
        self.lengths: list[int] = []
        self._gives = gives

    def run(self, _: object, given: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]:
        ids = given["input_ids"][0]
        self.lengths.append(len(ids))
        states = np.zeros((1, len(ids), WIDTH), np.float32)
        states[0, 1:, 0] = ids[:-1] == self._gives  # seen at the separator after it
        states[0, 0, -1] = self._gives not in ids
        return [states]


def read(folder: Path, session: Session, text: str, slots: list[DescribedSlot]) -> ReadUtterance:
    words = {word: 3 + number for number, word in enumerate(f"slot{each}" for each in range(60))}
    vocabulary = {"[UNK]": 0, "[CLS]": CLS, "[SEP]": SEP, **words}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    reader = OnnxSlotReader(folder, folder)
    layers = OnnxSlotReader.layers(adapter(folder, heads()), WIDTH)
    with patch.object(reader, "_model", PackedModel(tokenizer, session, layers)):
        return reader.read(text, slots)


@pytest.mark.parametrize("gives", [0, 31, 59])
def test_sixty_slots_are_read_in_several_calls(tmp_path: Path, gives: int) -> None:
    slots = [DescribedSlot(f"{'what ' * 20}slot{number}") for number in range(60)]
    session = Session(3 + gives)
    found = read(tmp_path, session, "two words", slots)
    assert len(session.lengths) > 2
    assert max(session.lengths) <= SLOT_LIMITS.at_once
    values = [each.acts[SlotAct.VALUE] > 0.5 for each in found.slots]
    assert [number for number, given in enumerate(values) if given] == [gives]
    assert [(each.start, each.end) for each in found.slots[gives].words] == [(0, 3), (4, 9)]
    assert found.talk < 0.1  # calls without the slot that is meant don't count


def test_options_are_read_beside_their_slot(tmp_path: Path) -> None:
    slots = [DescribedSlot("slot0", ("slot1", "slot2")), DescribedSlot("slot3")]
    first, second = read(tmp_path, Session(3 + 2), "two words", slots).slots
    assert first.options["slot2"] > 0.9 > 0.1 > first.options["slot1"]
    assert second.options == {}
    assert all(sum(each.acts.values()) == pytest.approx(1) for each in (first, second))


@pytest.mark.parametrize("text", ["", " ", "\ud800", "x" * 100_000, "word " * 9_999])
def test_unusual_text_is_read(tmp_path: Path, text: str) -> None:
    [found] = read(tmp_path, Session(3), text, [DescribedSlot("slot0 \udfff")]).slots
    assert all(0 <= each.start < each.end <= len(text) for each in found.words)


# -- damaged ----------------------------------------------------------------------------------


def test_a_reader_that_is_not_loaded_or_not_prepared_says_so(tmp_path: Path) -> None:
    reader = OnnxSlotReader(tmp_path, tmp_path)
    with pytest.raises(ModelFailed, match="before it was loaded"):
        reader.read("hello", [DescribedSlot("day")])
    with pytest.raises(ModelMissing, match=r"tokenizer\.json is missing") as caught:
        reader.load()
    assert caught.value.mend == f"assistant models pull {tmp_path.name}"


def test_a_failing_model_is_reported_without_the_users_words(tmp_path: Path) -> None:
    session = Mock()
    session.run.side_effect = RuntimeError("Bad node\nwith details.")
    with pytest.raises(ModelFailed, match=r"The model for forms failed: Bad node\."):
        read(tmp_path, session, "my secret", [DescribedSlot("slot0")])


def test_an_adapter_without_fitting_layers_is_refused(tmp_path: Path) -> None:
    whole = heads()
    assert (
        OnnxSlotReader.layers(adapter(tmp_path, whole), WIDTH).keys()
        == OnnxSlotReader.shapes(WIDTH).keys()
    )
    with pytest.raises(ModelCorrupt, match="adapter for forms"):
        OnnxSlotReader.layers(tmp_path, WIDTH + 1)
    for key in whole:
        absent = {each: value for each, value in whole.items() if each != key}
        with pytest.raises(ModelCorrupt, match=r"adapter for forms in .* can't be read"):
            OnnxSlotReader.layers(adapter(tmp_path, absent), WIDTH)
