"""The words of an argument are found by its tokens; a damaged description is refused."""

from pathlib import Path
from unittest.mock import Mock, patch

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from assistant.errors import ModelCorrupt
from models.encoder.intents import (
    KINDS,
    LONGEST,
    OnnxIntentClassifier,
    marked_words,
    read_kinds,
)

TEXT = "Forget my locker, Ada."
OFFSETS = [(0, 0), (0, 6), (7, 9), (10, 14), (14, 16), (16, 17), (18, 21), (21, 22), (0, 0)]
"""As a tokenizer reads it that knows no lockers, between two special tokens."""


def marked(*tokens: int, text: str = TEXT, cut: bool = False) -> str | None:
    marks = [int(token in tokens) for token in range(len(OFFSETS))]
    return marked_words(text, OFFSETS, marks, cut=cut)


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ((2, 3, 4), "my locker"),
        ((2, 4), "my locker"),
        ((3,), "locker"),
        ((4,), "locker"),
        ((4, 5), "locker,"),
        ((6, 8), "Ada"),
        ((0, 8), None),
        ((), None),
    ],
)
def test_words_reach_from_the_first_to_the_last_marked_token(
    tokens: tuple[int, ...], words: str | None
) -> None:
    assert marked(*tokens) == words


def test_the_longest_part_counts_if_another_argument_interrupts() -> None:
    text = "remind me to call Anna tomorrow about it"
    edges = [(0, 6), (7, 9), (10, 12), (13, 17), (18, 22), (23, 31), (32, 37), (38, 40)]
    marks = [0, 0, 0, 1, 1, 2, 1, 1]
    assert marked_words(text, edges, marks, 1) == "call Anna"
    assert marked_words(text, edges, marks, 2) == "tomorrow"
    assert marked_words(text, edges, marks, 3) is None


def test_words_that_reach_to_where_the_text_was_cut_off_go_on_to_its_end() -> None:
    longer = f"{TEXT} And my key."
    assert marked(2, 3, 7, text=longer, cut=True) == "my locker, Ada. And my key."
    assert marked(2, 3, 4, text=longer, cut=True) == "my locker"
    assert marked(2, 3, 7, text=longer) == "my locker, Ada."


@pytest.mark.parametrize("words", [50, 200])
def test_a_long_argument_is_not_cut_off(tmp_path: Path, words: int) -> None:
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.enable_truncation(LONGEST)
    session = Mock()
    marks = np.array([[[0.0, 1.0]] * min(words, LONGEST)])
    session.run.return_value = np.zeros((1, 2)), marks, np.zeros((1, 3)), np.zeros((1, 1))
    classifier = OnnxIntentClassifier(tmp_path, tmp_path)
    with patch.multiple(classifier, _tokenizer=tokenizer, _session=session):
        text = " ".join(["word"] * words)
        assert classifier.classify(text).words == text


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "[]",
        '{"kinds": ["none", "stop"]}',
        '{"kinds": ["none"], "temperature": 1}',
        '{"kinds": ["stop", "wake"], "temperature": 1}',
        '{"kinds": ["none", "stop", "stop"], "temperature": 1}',
        '{"kinds": ["none", "stop"], "temperature": 0}',
        '{"kinds": ["none", "stop"], "temperature": 1, "colour": "blue"}',
    ],
)
def test_a_damaged_description_is_refused_in_one_line(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / KINDS).write_text(text, encoding="utf-8")
    with pytest.raises(ModelCorrupt, match=r"intents\.json can't be read") as caught:
        read_kinds(tmp_path)
    assert "\n" not in str(caught.value)


def test_what_is_live_or_unseen_is_not_knowable(tmp_path: Path) -> None:
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    session = Mock()
    classifier = OnnxIntentClassifier(tmp_path, tmp_path)
    with patch.multiple(classifier, _tokenizer=tokenizer, _session=session):
        for outputs, live, unseen in (
            ((9, 0, 0), 0, 0),
            ((0, 9, 0), 1, 0),
            ((0, 0, 9), 0, 1),
            ((0, 0, 0), 1 / 3, 1 / 3),
        ):
            made = np.array([outputs], np.float32)
            others = np.zeros((1, 2)), np.zeros((1, 1, 4))
            session.run.return_value = *others, made, np.array([[2.0]], np.float32)
            found = classifier.classify("word")
            assert (found.live, found.unseen) == pytest.approx((live, unseen), abs=0.001)
            assert found.unknowable == found.live + found.unseen
            assert found.told == pytest.approx(0.881, abs=0.001)
        long = classifier.classify("word " * 9999)
        assert (long.unknowable, long.told) == (0, 0), "its end is not read"
