"""What the encoder is adapted with, and that nothing of it is what it is measured on."""

import json
from collections.abc import Iterator
from pathlib import Path

from data import located
from scripts.train.training_data import FILES, read_pairs

EVALUATION = Path(located("evaluation/README.md")).parent


def plain(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def strings(value: object) -> Iterator[str]:
    """All texts in what a line of JSON holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)


def test_each_utterance_is_there_once_with_its_questions() -> None:
    told = [each for name in FILES for each in read_pairs(name)]
    assert len({plain(each.said) for each in told}) == len(told) >= 18_000
    assert all(len(each.asked) == len(each.beside) == 2 for each in told)
    assert all(text.strip() for each in told for text in each.texts)


def test_no_sentence_is_one_that_recall_is_measured_on() -> None:
    learnt = {plain(text) for name in FILES for each in read_pairs(name) for text in each.texts}
    measured = {
        plain(text)
        for file in EVALUATION.glob("*.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines()
        for text in strings(json.loads(line))
        if len(text.split()) > 4
    }
    assert measured
    assert learnt & measured == set()


def test_some_of_it_is_from_most_of_it() -> None:
    name = FILES[0]
    told = read_pairs(name)
    for limit in (100, 2700):
        some = read_pairs(name, limit)
        assert len(some) == limit
        places = [told.index(each) for each in (*some[:3], some[-1])]
        assert places[2] - places[1] == places[1] - places[0] > 1
        assert places[-1] > 0.8 * len(told)
