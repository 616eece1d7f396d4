"""The data that encoders are trained with, which share nothing with those that measure them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from data import located
from scripts.common.rows import read_rows
from scripts.train.reranking_lessons import NEAR_MISSES, PEOPLE
from scripts.train.training_data import FILES, Told, read_pairs

EVALUATION = Path(located("evaluation/README.md")).parent
NO_WORD = re.compile(r"[\W_]+")


@pytest.fixture(scope="module")
def pairs() -> dict[str, list[Told]]:
    return {name: read_pairs(name) for name in FILES}


def plain(text: str) -> str:
    return NO_WORD.sub(" ", text.lower()).strip()


def strings(value: object) -> Iterator[str]:
    """All texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)


def test_each_utterance_occurs_once_with_its_questions(pairs: dict[str, list[Told]]) -> None:
    every = [each for some in pairs.values() for each in some]
    assert len({plain(each.said) for each in every}) == len(every) >= 18_000
    assert all(len(each.asked) == len(each.beside) == 2 for each in every)
    assert all(text.strip() for each in every for text in each.texts)


def test_near_misses_belong_to_an_utterance_and_are_none_of_its_questions(
    pairs: dict[str, list[Told]],
) -> None:
    asked = {each.said: each.asked for some in pairs.values() for each in some}
    rows = read_rows(located(NEAR_MISSES))
    assert len({row["said"] for row in rows}) == len(rows) > 1_500
    for row in rows:
        assert row.keys() == {"said", "a", "b"}
        texts = [plain(text) for text in (row["a"], row["b"], *asked[row["said"]])]
        assert len({*texts}) == len(texts)
        assert all(texts)


def test_no_training_sentence_is_used_to_measure_recall(pairs: dict[str, list[Told]]) -> None:
    learnt = {plain(text) for some in pairs.values() for each in some for text in each.texts}
    for name in (NEAR_MISSES, PEOPLE):
        learnt |= {plain(text) for row in read_rows(located(name)) for text in strings(row)}
    measured = {
        plain(text)
        for file in EVALUATION.glob("*.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines()
        for text in strings(json.loads(line))
        if len(text.split()) > 4
    }
    assert measured
    assert learnt & measured == set()


def test_a_limited_selection_is_spread_over_the_file(pairs: dict[str, list[Told]]) -> None:
    name = FILES[0]
    every = pairs[name]
    for limit in (100, 2700):
        some = read_pairs(name, limit)
        assert len(some) == limit
        places = [every.index(each) for each in (*some[:3], some[-1])]
        assert places[2] - places[1] == places[1] - places[0] > 1
        assert places[-1] > 0.8 * len(every)
