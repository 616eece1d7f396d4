"""Makes what a classifier of intents learns from: batches of utterances, varied in each pass."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from data import located
from scripts.common.utterances import BY_HAND, KINDS, TRAINING, Utterance, read_utterances
from scripts.train.training_data import FILES, read_pairs

CLASSES = ("none", *(kind.value for kind in KINDS))
"""The classes to learn, in the order of the model's outputs."""
WORDED = frozenset(
    ("forget_about", "forget_period", "know", "remember", "correct", "when_told", "lift")
)
"""Kinds of commands that may have an argument."""
LONGEST = 64
"""Tokens after which an utterance is cut, as in the product."""
DRAWN = 20
"""Number of batches whose utterances are sorted by length together, since padding takes as long as
words."""
IGNORED = -100
"""Mark of tokens that don't count."""

OPENINGS = (
    *("uh ", "um, ", "so ", "okay ", "please ", "ada ", "hey ada, ", "Ada, ", "well, ", "hey "),
    *("right, ", "oh, ", "and ", "look, ", "no, ", "yeah, ", "sorry, "),
)
ENDINGS = (" please", " ada", " thanks", ", Ada", " okay", " then", " now", ", please")
OPENED, ENDED, UNPUNCTUATED = 0.12, 0.08, 0.3
"""Share of the utterances that are varied in each way."""
PUNCTUATION = frozenset('.,!?;:"—…')


@dataclass(frozen=True, slots=True)
class Sample:
    """An utterance as it is learnt in one pass.

    Attributes:
        tokens: its token ids.
        number: its class.
        sure: whether the label is certain.
        marks: for each token, whether it belongs to the argument (1) or not (0). They are `IGNORED`
            if a command of this kind never has one, or if it is not known.
    """

    tokens: list[int]
    number: int
    sure: bool
    marks: list[int]


def read_lessons(limit: int | None) -> list[Utterance]:
    """The labelled utterances, at most `limit` of them, evenly spaced."""
    found = [each for name in (TRAINING, BY_HAND) for each in read_utterances(located(name))]
    return found[:: max(1, len(found) // limit)][:limit] if limit else found


def read_talk(limit: int | None) -> list[str]:
    """Ordinary talk: the utterances and questions with which the encoders were adapted, at most
    `limit` utterances of each file."""
    return [text for name in FILES for each in read_pairs(name, limit) for text in each.texts]


def varied(said: Utterance, chance: Random) -> tuple[str, int, int]:
    """An utterance as it may be said or written otherwise, and where its argument begins and ends
    in it, both -1 if there is none."""
    text, words = said.said, said.words
    start = text.find(words) if words else -1
    end = start + len(words) if words else -1
    if chance.random() < OPENED:
        opening = chance.choice(OPENINGS)
        text = opening + text
        if words:
            start, end = start + len(opening), end + len(opening)
    if chance.random() < ENDED:
        mark = "?" if text.endswith("?") else "."
        text = text.rstrip(".!?") + chance.choice(ENDINGS) + chance.choice(["", ".", mark])
    if chance.random() < UNPUNCTUATED:
        kept = [at for at, letter in enumerate(text) if letter not in PUNCTUATION]
        text = "".join(text[at] for at in kept)
        if words:
            start, end = (sum(at < edge for at in kept) for edge in (start, end))
    return text, start, end


def samples(utterances: Sequence[Utterance], tokenizer: Any, chance: Random) -> list[Sample]:
    """All utterances, varied anew."""
    made = [varied(each, chance) for each in utterances]
    read = tokenizer(
        [text for text, _, _ in made],
        truncation=True,
        max_length=LONGEST,
        return_offsets_mapping=True,
    )
    found = []
    for said, (_, start, end), tokens, offsets in zip(
        utterances, made, read["input_ids"], read["offset_mapping"], strict=True
    ):
        label = said.kind.value if said.kind else "none"
        if label in WORDED and said.worded:
            marks = [int(last > first >= start >= 0 and last <= end) for first, last in offsets]
        else:
            marks = [IGNORED] * len(tokens)
        found.append(Sample(tokens, CLASSES.index(label), said.sure, marks))
    return found


def batches(learnt: Sequence[Sample], size: int, chance: Random) -> Iterator[list[Sample]]:
    """Yields all samples in batches, with those of similar length together."""
    left = list(learnt)
    chance.shuffle(left)
    for begin in range(0, len(left), DRAWN * size):
        drawn = sorted(left[begin : begin + DRAWN * size], key=lambda each: len(each.tokens))
        made = [drawn[first : first + size] for first in range(0, len(drawn), size)]
        chance.shuffle(made)
        yield from made
