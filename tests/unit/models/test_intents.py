"""The words of an argument are found by its tokens; a damaged description is refused."""

from pathlib import Path

import numpy as np
import pytest

from assistant.errors import ModelCorrupt
from models.encoder.intents import KINDS, marked_words, read_kinds

TEXT = "Forget my locker, Ada."
OFFSETS = [(0, 0), (0, 6), (7, 9), (10, 14), (14, 16), (16, 17), (18, 21), (21, 22), (0, 0)]
"""As a tokenizer reads it that knows no lockers, between two special tokens."""


def marked(*tokens: int) -> str | None:
    inside = np.isin(np.arange(len(OFFSETS)), tokens).astype(np.float32)
    return marked_words(TEXT, OFFSETS, np.stack([np.full(len(OFFSETS), 0.5), inside], axis=1))


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
