"""The lessons of the classifier of intents, and the choice of its temperature."""

from random import Random
from typing import Any

import numpy as np
import pytest

from assistant.intents.command import CommandKind
from scripts.common.utterances import Utterance
from scripts.train.calibration import best_temperature, calibration, softmax
from scripts.train.intent_lessons import (
    CLASSES,
    IGNORED,
    NOWHERE,
    batches,
    samples,
    varied,
)

SAID = 'Well, "forget" Dr. Who\'s box, Ada!'
WORDS = "Dr. Who's box"
BOX = Utterance(SAID, CommandKind.FORGET_ABOUT, WORDS)


def by_letters(texts: list[str], **_: Any) -> dict[str, Any]:
    """A tokenizer for which each character is a token, between two special ones."""
    return {
        "input_ids": [[0, *map(ord, text), 1] for text in texts],
        "offset_mapping": [
            [(0, 0), *((at, at + 1) for at in range(len(text))), (0, 0)] for text in texts
        ],
    }


def test_an_argument_is_still_found_when_the_utterance_is_varied() -> None:
    chance = Random(1)
    made = [varied(BOX, chance) for _ in range(300)]

    assert len({text for text, _ in made}) > 20
    for text, [(start, end), *others] in made:
        assert others == [NOWHERE, NOWHERE]
        assert text[start:end] in (WORDS, "Dr Who's box")
    assert all(
        varied(Utterance("Stop.", CommandKind.STOP), chance)[1] == [NOWHERE] * 3 for _ in made
    )


def test_only_the_argument_is_marked() -> None:
    [sample] = samples([BOX], by_letters, Random(1))

    marked = "".join(
        chr(token) for token, mark in zip(sample.tokens, sample.marks, strict=True) if mark
    )
    assert marked in (WORDS, "Dr Who's box")
    assert CLASSES[sample.number] == "forget_about"


@pytest.mark.parametrize(
    ("said", "marks"),
    [
        (Utterance("Stop.", CommandKind.STOP), {IGNORED}),
        (Utterance("Hello.", None), {IGNORED}),
        (Utterance("Remember that.", CommandKind.REMEMBER), {0}),
        (Utterance("Forget the last hour.", CommandKind.FORGET_PERIOD, worded=False), {IGNORED}),
    ],
)
def test_an_argument_that_is_not_known_is_not_learnt(said: Utterance, marks: set[int]) -> None:
    [sample] = samples([said], by_letters, Random(0))

    assert set(sample.marks) == marks


def test_each_sample_is_in_one_batch_with_others_of_its_length() -> None:
    texts = [Utterance("a" * (1 + number % 40), None) for number in range(205)]
    made = samples(texts, by_letters, Random(0))

    found = list(batches(made, 10, Random(0)))

    assert sorted(id(each) for batch in found for each in batch) == sorted(map(id, made))
    spread = [len(batch[-1].tokens) - len(batch[0].tokens) for batch in found if len(batch) > 1]
    assert np.mean(spread) < 8


def outputs(certain: float, count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Random outputs for three classes that favour the right one in nine of ten cases."""
    chance = np.random.default_rng(3)
    labels = chance.integers(0, 3, count)
    likeliest = np.where(chance.random(count) < 0.9, labels, (labels + 1) % 3)
    found = chance.normal(size=(count, 3)) * 0.1
    found[np.arange(count), likeliest] += certain
    return found, labels


@pytest.mark.parametrize("certain", [1.5, 3.0, 6.0])
def test_probabilities_are_calibrated(certain: float) -> None:
    found, labels = outputs(certain)

    probabilities = softmax(found, best_temperature(found, labels))

    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert abs(probabilities.max(axis=1).mean() - 0.9) < 0.03
    rows = calibration(probabilities, labels)
    assert sum(row["utterances"] for row in rows) == len(labels)
