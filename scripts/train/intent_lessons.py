"""Makes the batches that a classifier of intents learns from: utterances, varied in each pass."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from assistant.intents.command import ARGUMENTS
from data import located
from models.encoder.intents import ARGUMENTS as SLOTS
from scripts.common.utterances import BY_HAND, CLAIM, KINDS, TRAINING, Utterance, read_utterances
from scripts.train.training_data import FILES, read_pairs

CLASSES = ("none", *(kind.value for kind in KINDS), CLAIM)
"""The classes to learn, in the order of the model's outputs."""
REQUESTS = "training/requests_in_talk.txt"
"""File of the utterances in the files of talk that are in fact requests to a skill, and so are not
learnt as talk."""
LONGEST = 64
"""Tokens after which an utterance is cut, as in the product."""
DRAWN = 20
"""Utterances are sorted by length within groups of this many batches. A batch then needs little
padding, which takes as long to compute as words."""
NOWHERE = (-1, -1)
"""Edges of a missing argument."""
IGNORED = -100
"""Mark of tokens that don't count in the loss."""

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
        marks: for each token, the number of the argument that it belongs to, or 0. All are
            `IGNORED` if this kind has no arguments, or if they were not labelled.
    """

    tokens: list[int]
    number: int
    sure: bool
    marks: list[int]


def read_lessons(limit: int | None) -> list[Utterance]:
    """The labelled utterances, at most `limit` of them, evenly spaced."""
    requests = read_requests()
    found = [
        each
        for name in (TRAINING, BY_HAND)
        for each in read_utterances(located(name))
        if each.kind or each.said not in requests
    ]
    return found[:: max(1, len(found) // limit)][:limit] if limit else found


def read_talk(limit: int | None) -> list[str]:
    """Ordinary talk: the utterances and questions with which the encoders were adapted, at most
    `limit` utterances of each file."""
    requests = read_requests()
    texts = (text for name in FILES for each in read_pairs(name, limit) for text in each.texts)
    return [text for text in texts if text not in requests]


def read_requests() -> frozenset[str]:
    return frozenset(located(REQUESTS).read_text(encoding="utf-8").splitlines())


def varied(said: Utterance, chance: Random) -> tuple[str, list[tuple[int, int]]]:
    """A variation of an utterance, as it might also be said or written, and the start and end of
    each argument in it; both are -1 for a missing argument."""
    text = said.said
    words = [getattr(said, slot) for slot in SLOTS]
    edges = [
        (at, at + len(each)) if each and (at := text.find(each)) >= 0 else (-1, -1)
        for each in words
    ]
    if chance.random() < OPENED:
        opening = chance.choice(OPENINGS)
        text = opening + text
        edges = [_moved(each, len(opening)) for each in edges]
    if chance.random() < ENDED:
        mark = "?" if text.endswith("?") else "."
        text = text.rstrip(".!?") + chance.choice(ENDINGS) + chance.choice(["", ".", mark])
    if chance.random() < UNPUNCTUATED:
        kept = [
            at
            for at, letter in enumerate(text)
            if letter not in PUNCTUATION or _in_number(text, at)
        ]
        text = "".join(text[at] for at in kept)
        edges = [
            (sum(at < start for at in kept), sum(at < end for at in kept)) if end >= 0 else (-1, -1)
            for start, end in edges
        ]
    return text, edges


def _moved(edges: tuple[int, int], by: int) -> tuple[int, int]:
    return (edges[0] + by, edges[1] + by) if edges[0] >= 0 else edges


def _in_number(text: str, at: int) -> bool:
    """Whether a mark stands between two digits: "7:30", "1.5"."""
    return text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit()


def samples(utterances: Sequence[Utterance], tokenizer: Any, chance: Random) -> list[Sample]:
    """All utterances, varied anew."""
    made = [varied(each, chance) for each in utterances]
    read = tokenizer(
        [text for text, _ in made],
        truncation=True,
        max_length=LONGEST,
        return_offsets_mapping=True,
    )
    found = []
    for said, (_, edges), tokens, offsets in zip(
        utterances, made, read["input_ids"], read["offset_mapping"], strict=True
    ):
        label = said.label or "none"
        if said.kind in ARGUMENTS and said.worded:
            marks = [_mark(each, edges) for each in offsets]
        else:
            marks = [IGNORED] * len(tokens)
        found.append(Sample(tokens, CLASSES.index(label), said.sure, marks))
    return found


def _mark(token: tuple[int, int], edges: Sequence[tuple[int, int]]) -> int:
    """The number of the argument that a token belongs to, or 0."""
    first, past = token
    for number, (start, end) in enumerate(edges, 1):
        if past > first >= start >= 0 and past <= end:
            return number
    return 0


def batches(learnt: Sequence[Sample], size: int, chance: Random) -> Iterator[list[Sample]]:
    """Yields all samples in batches, with those of similar length together."""
    left = list(learnt)
    chance.shuffle(left)
    for begin in range(0, len(left), DRAWN * size):
        drawn = sorted(left[begin : begin + DRAWN * size], key=lambda each: len(each.tokens))
        made = [drawn[first : first + size] for first in range(0, len(drawn), size)]
        chance.shuffle(made)
        yield from made
