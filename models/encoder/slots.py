"""Finds the values of a form's slots in an utterance, with an encoder in onnxruntime.

The model must have been prepared by `models.encoder.preparation`. It is the published encoder with
an adapter, and small layers on top of it. It reads the utterance together with descriptions of all
slots. So the slots compete for the words, and new forms need no training. For each slot, it returns
the probability of each `SlotAct`, e.g. that the utterance gives the slot a value, and the words
that express the value. `scripts/train_slots.py` trains the model.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from models.encoder.packing import (
    Array,
    Input,
    Limits,
    PackedModel,
    PackingReader,
    Shapes,
    sigmoid,
)
from models.interfaces import DescribedSlot, ReadSlot, ReadUtterance, SlotAct, SlotWords

ACTS = tuple(SlotAct)
"""The acts in the order of the model's outputs."""
NOTHING = ACTS.index(SlotAct.NOTHING)
OUTSIDE, FIRST, INSIDE, FIRST_REMOVED, REMOVED = range(5)
"""Marks of tokens. `FIRST` marks the first token of a value or of a list item, and `INSIDE` any
further token of it. `FIRST_REMOVED` and `REMOVED` do the same for an item to be removed from a
list. All other tokens are `OUTSIDE`."""
MARKS = 5
FOLLOWS = {INSIDE: (FIRST, INSIDE), REMOVED: (FIRST_REMOVED, REMOVED)}
"""Marks that may only follow certain other marks."""
SLOT_LIMITS = Limits(text=96, item=32, at_once=448)
"""The limits of an utterance, of a slot's description, and of an input. If the slots need more,
they are distributed over several inputs."""
HIDDEN = 192
"""Size of the layers that combine tokens with slots."""


class OnnxSlotReader(PackingReader):
    """A `SlotReader` that runs a prepared model."""

    GRAPH = "slots.int8.onnx"
    PURPOSE = "forms"

    @staticmethod
    def shapes(dimensions: int) -> Shapes:
        """The first layer reads a slot's [SEP] and [CLS]. The next three combine tokens with slots,
        so that `marks` can mark the tokens. The last reads [CLS]."""
        return {
            "acts": (len(ACTS), 2 * dimensions),
            "tokens": (HIDDEN, dimensions),
            "slots": (HIDDEN, dimensions),
            "products": (HIDDEN, dimensions),
            "marks": (MARKS, HIDDEN),
            "talk": (1, dimensions),
        }

    def _warm_up(self) -> None:
        self.read("warm", [DescribedSlot("warm")])

    def read(self, text: str, slots: Sequence[DescribedSlot]) -> ReadUtterance:
        """Read an utterance. The end of a very long utterance is ignored.

        Raises:
            ModelFailed: the model is not loaded, or onnxruntime failed.
        """
        described = [line for each in slots for line in (each.text, *each.options)]
        rows: list[tuple[Array, Array]] = []
        most = talk = 0.0
        with self._loaded() as model:
            said = model.encode(text, SLOT_LIMITS.text)
            for each in model.inputs(said.ids, described, SLOT_LIMITS):
                found, more = _judged(model, each)
                given = max(1 - float(acts[NOTHING]) for acts, _ in found)
                most, talk = max((most, talk), (given, more))
                rows += found
        return ReadUtterance(tuple(_slots(text, slots, rows, said.offsets)), talk)


# -- reading the outputs ----------------------------------------------------------------------


def _judged(model: PackedModel, made: Input) -> tuple[list[tuple[Array, Array]], float]:
    """Return, for each slot, the probabilities of its acts, shape (acts,), and of the marks of
    each token, shape (tokens, marks). Also return the probability that the utterance says
    something else besides (`ReadUtterance.talk`)."""
    states = model.states(made)
    words, slots = states[1 : made.text_end], states[made.ends]
    first = np.repeat(states[:1], len(slots), axis=0)
    acts = _softmax(model.linear("acts", np.concatenate([slots, first], axis=1)))
    hidden = (
        model.linear("tokens", words)[None]
        + model.linear("slots", slots)[:, None]
        + model.linear("products", words[None] * slots[:, None])
    )
    marks = _softmax(model.linear("marks", np.maximum(hidden, 0)))
    talk = sigmoid(model.linear("talk", states[0]))
    return list(zip(acts, marks, strict=True)), float(talk[0])


def _slots(
    text: str,
    slots: Sequence[DescribedSlot],
    rows: Sequence[tuple[Array, Array]],
    offsets: Sequence[tuple[int, int]],
) -> Iterator[ReadSlot]:
    """Yield what was read for each slot. In `rows`, a slot's row is followed by the rows of its
    options."""
    at = 0
    for each in slots:
        acts, marks = rows[at]
        options = rows[at + 1 : at + 1 + len(each.options)]
        at += 1 + len(each.options)
        given = ACTS.index(SlotAct.VALUE)
        chosen = {
            option: float(row[given])
            for option, (row, _) in zip(each.options, options, strict=True)
        }
        best = max(options, key=lambda row: float(row[0][given])) if options else None
        words = marked_parts(text, offsets, likeliest_marks((best or (acts, marks))[1]))
        yield ReadSlot(
            {act: float(share) for act, share in zip(ACTS, acts, strict=True)},
            tuple(words or marked_parts(text, offsets, likeliest_marks(marks))),
            chosen,
        )


def likeliest_marks(shares: Array) -> list[int]:
    """Return the likeliest sequence of marks in which all parts begin with a first token (Viterbi).

    Args:
        shares: the probability of each mark of each token, shape (tokens, marks).
    """
    allowed = np.zeros((MARKS, MARKS))
    for mark, before in FOLLOWS.items():
        allowed[[each for each in range(MARKS) if each not in before], mark] = -np.inf
    logs = np.log(shares + np.finfo(np.float32).tiny)
    best = np.where([mark in FOLLOWS for mark in range(MARKS)], -np.inf, 0.0)
    came_from = []
    for place, each in enumerate(logs):
        paths = best[:, None] + allowed if place else np.tile(best, (MARKS, 1))
        came_from.append(paths.argmax(axis=0))
        best = paths.max(axis=0) + each
    marks = [int(best.argmax())] if len(logs) else []
    for before in reversed(came_from[1:]):
        marks.append(int(before[marks[-1]]))
    return marks[::-1]


def marked_parts(
    text: str, offsets: Sequence[tuple[int, int]], marks: Sequence[int]
) -> list[SlotWords]:
    """Return the marked parts of a text in order, widened to whole words.

    Args:
        offsets: the range of characters [start, end) of each token.
        marks: the mark of each token, as `likeliest_marks` returns them.
    """
    parts: list[tuple[int, int, bool]] = []
    for (first, past), mark in zip(offsets, marks, strict=False):
        removed = mark in (FIRST_REMOVED, REMOVED)
        near = bool(parts) and parts[-1][1:] == (first, removed)
        inside_word = near and text[first : first + 1].isalnum()
        if mark in FOLLOWS or (mark != OUTSIDE and inside_word):
            parts[-1] = (parts[-1][0], past, removed)
        elif mark != OUTSIDE:
            parts.append((first, past, removed))
    return [
        SlotWords(start, end, removed)
        for start, end, removed in _apart([_widened(text, *each) for each in parts])
    ]


def _widened(text: str, start: int, end: int, removed: bool) -> tuple[int, int, bool]:
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return start, end, removed


def _apart(parts: Sequence[tuple[int, int, bool]]) -> list[tuple[int, int, bool]]:
    """Merge parts that overlap after widening."""
    merged: list[tuple[int, int, bool]] = []
    for start, end, removed in parts:
        if merged and start < merged[-1][1]:
            first, last, before = merged.pop()
            merged.append((first, max(last, end), before))
        else:
            merged.append((start, end, removed))
    return merged


def _softmax(x: Any) -> Array:
    shares = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True), np.float32)
