"""Finds the values of a form's slots in an utterance, with an encoder in onnxruntime.

The model must have been prepared by `models.encoder.preparation`. It is the published encoder with
an adapter, and small layers on top of it. It reads the utterance together with a description of
each slot. So the slots compete for the words, and new forms need no training. For each slot, it
returns the probability of each `SlotAct`, e.g. that the utterance gives the slot a value, and the
words that express it. `scripts/train_slots.py` trains the model.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from assistant.errors import ModelCorrupt, ModelFailed
from models.encoder.onnx import (
    CHARACTERS_PER_TOKEN,
    first_line,
    open_prepared,
    without_surrogates,
)
from models.encoder.weights import read_tensors
from models.interfaces import DescribedSlot, ReadSlot, ReadUtterance, SlotAct, SlotWords

SLOTS = "slots.int8.onnx"
ACTS = tuple(SlotAct)
"""The acts in the order of the model's outputs."""
NOTHING = ACTS.index(SlotAct.NOTHING)
OUTSIDE, FIRST, INSIDE, FIRST_REMOVED, REMOVED = range(5)
"""Marks of tokens: not part of a value; the first token of a value or of a list's item; a further
token of it; and the same two for an item that is to be removed from a list."""
MARKS = 5
FOLLOWS = {INSIDE: (FIRST, INSIDE), REMOVED: (FIRST_REMOVED, REMOVED)}
"""Marks that may only follow certain other marks."""
LONGEST = 96
"""Maximum number of tokens of an utterance. The rest is not read."""
LONGEST_SLOT = 32
"""Maximum number of tokens of a slot's description."""
MOST_AT_ONCE = 448
"""Maximum number of tokens in one call of the model. If the slots need more, there are several
calls."""
HEADS = ("acts", "tokens", "slots", "products", "marks", "talk")
"""The layers on top of the encoder."""

Ids = Sequence[int]
Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Input:
    """Token ids of an utterance with some slots.

    Attributes:
        ids: [CLS] utterance [SEP] slot [SEP] slot [SEP] …
        text: number of the utterance's tokens. The first of them has the index 1.
        ends: index of the [SEP] after each slot.
    """

    ids: list[int]
    text: int
    ends: list[int]


def inputs(utterance: Ids, slots: Sequence[Ids], first: int, separator: int) -> Iterator[Input]:
    """Distribute the slots over as few inputs as needed, in order, and yield these.

    Args:
        utterance: the token ids of the utterance, without special tokens.
        slots: the token ids of each slot's description, without special tokens.
        first: the id of [CLS].
        separator: the id of [SEP].
    """
    begun = [first, *utterance[:LONGEST], separator]
    made = Input([*begun], len(begun) - 2, [])
    for each in slots:
        ids = [*each[:LONGEST_SLOT], separator]
        if made.ends and len(made.ids) + len(ids) > MOST_AT_ONCE:
            yield made
            made = Input([*begun], len(begun) - 2, [])
        made.ids.extend(ids)
        made.ends.append(len(made.ids) - 1)
    if made.ends:
        yield made


def special_ids(tokenizer: Tokenizer) -> tuple[int, int]:
    """Return the ids of [CLS] and [SEP]. Raises ValueError if the tokenizer doesn't have them."""
    ids = [tokenizer.token_to_id(each) for each in ("[CLS]", "[SEP]")]
    first, separator = (each for each in ids if each is not None)
    return first, separator


class OnnxSlotReader:
    """A `SlotReader` that runs the prepared model in `folder`.

    Args:
        adapter: the folder of the adapter that the model was prepared with.
        threads: number of CPU threads per call.
    """

    def __init__(self, folder: Path, adapter: Path, *, threads: int = 2) -> None:
        self._folder = folder
        self._adapter = adapter
        self._threads = threads
        self._session: onnxruntime.InferenceSession | None = None
        self._tokenizer: Tokenizer | None = None
        self._heads: Mapping[str, tuple[Array, Array]] = {}

    def load(self) -> None:
        """Load the model and read a word, so that the first utterance is fast. Idempotent.

        Raises:
            ModelMissing: the folder is missing or has not been prepared.
            ModelCorrupt: a file of the model can't be read.
        """
        if self._session is not None:
            return
        what = "The model for forms"
        tokenizer, session = open_prepared(self._folder, SLOTS, what, self._threads)
        heads = read_slot_heads(self._adapter, session.get_outputs()[0].shape[-1])
        self._heads, self._tokenizer, self._session = heads, tokenizer, session
        self.read("warm", [DescribedSlot("warm")])

    def read(self, text: str, slots: Sequence[DescribedSlot]) -> ReadUtterance:
        """Read an utterance. The end of a very long utterance is ignored.

        Raises:
            ModelFailed: the model is not loaded, or onnxruntime failed.
        """
        if self._session is None or self._tokenizer is None:
            raise ModelFailed("The model for forms was used before it was loaded.")
        beginning = without_surrogates(text[: LONGEST * CHARACTERS_PER_TOKEN])
        described = [line for each in slots for line in (each.text, *each.options)]
        try:
            said = self._tokenizer.encode(beginning, add_special_tokens=False)
            lines = self._tokenizer.encode_batch(
                list(map(without_surrogates, described)), add_special_tokens=False
            )
            rows: list[tuple[Array, Array]] = []
            most = talk = 0.0
            described_ids = [line.ids for line in lines]
            for each in inputs(said.ids, described_ids, *special_ids(self._tokenizer)):
                ids = np.array([each.ids], np.int64)
                [states] = self._session.run(["states"], {"input_ids": ids})
                found, more = self._judged(states[0], each)
                given = max(1 - float(acts[NOTHING]) for acts, _ in found)
                most, talk = max((most, talk), (given, more))
                rows += found
        except Exception as error:  # onnxruntime's errors have no common base
            raise ModelFailed(f"The model for forms failed: {first_line(error)}.") from error
        return ReadUtterance(tuple(_slots(text, slots, rows, said.offsets)), talk)

    def _judged(self, states: Array, made: Input) -> tuple[list[tuple[Array, Array]], float]:
        """Return, for each slot, the probabilities of its acts, shape (acts,), and of the marks of
        each token, shape (tokens, marks). Also return the probability that the utterance says
        something else besides (`ReadUtterance.talk`)."""
        words, slots = states[1 : 1 + made.text], states[made.ends]
        first = np.repeat(states[:1], len(slots), axis=0)
        acts = _softmax(self._linear("acts", np.concatenate([slots, first], axis=1)))
        hidden = (
            self._linear("tokens", words)[None]
            + self._linear("slots", slots)[:, None]
            + self._linear("products", words[None] * slots[:, None])
        )
        marks = _softmax(self._linear("marks", np.maximum(hidden, 0)))
        talk = 1 / (1 + np.exp(-self._linear("talk", states[:1])[0, 0]))
        return list(zip(acts, marks, strict=True)), float(talk)

    def _linear(self, name: str, x: Array) -> Array:
        weight, bias = self._heads[name]
        return np.asarray(x @ weight.T + bias, np.float32)


def read_slot_heads(adapter: Path, dimensions: int) -> Mapping[str, tuple[Array, Array]]:
    """Read the weights and biases of the layers on top of the encoder, shapes (out, in) and (out,).

    Args:
        dimensions: number of dimensions of the encoder's token states.

    Raises:
        ModelCorrupt: the layers can't be read, or don't fit the encoder.
    """
    try:
        tensors = read_tensors(adapter / "adapter_model.safetensors")
        hidden = len(tensors["tokens.bias"])
        shapes = dict.fromkeys(HEADS, (hidden, dimensions))
        shapes |= {"acts": (len(ACTS), 2 * dimensions), "talk": (1, dimensions)}
        shapes["marks"] = (MARKS, hidden)
        heads = {}
        for name, shape in shapes.items():
            weight, bias = (
                np.asarray(tensors[f"{name}.{part}"], np.float32) for part in ("weight", "bias")
            )
            if weight.shape != shape or bias.shape != shape[:1]:
                raise ValueError(f"{name} has another shape")
            heads[name] = (weight, bias)
    except (OSError, ValueError, KeyError, TypeError) as error:
        told = f"The adapter for forms in {adapter} can't be read: {error}."
        raise ModelCorrupt(told) from error
    return heads


# -- reading the outputs; pure ----------------------------------------------------------------


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
