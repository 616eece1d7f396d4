"""Packs a text and a list of short items into one input of an encoder, and runs the encoder.

The reader of forms packs an utterance with the descriptions of slots. The reranker packs a question
with one or two memories. The judge of turns packs a speaker's words with those of the assistant.
Every token can attend to the text and to all items of its input. The prepared graph gives the state
of each token. The layers on top of the graph are so small that NumPy computes them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from assistant.errors import ModelCorrupt, ModelFailed
from models.encoder.onnx import (
    CHARACTERS_PER_TOKEN,
    first_line,
    open_prepared,
    without_surrogates,
)
from models.encoder.weights import read_tensors

Ids = Sequence[int]
Array = NDArray[np.float32]
Layers = Mapping[str, tuple[Array, Array]]
"""The weight and the bias of each layer on top of an encoder, shapes (out, in) and (out,)."""
Shapes = Mapping[str, tuple[int, int]]
"""The shape (out, in) of each layer's weight."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum numbers of tokens. `text` and `item` don't count special tokens.

    Attributes:
        text: limit for the text. The rest of a longer text is not read.
        item: limit for an item. The rest of a longer item is not read.
        at_once: limit for an input.
    """

    text: int
    item: int
    at_once: int


@dataclass(frozen=True, slots=True)
class Input:
    """Token ids of a text with some items.

    Attributes:
        ids: [CLS] text [SEP] item [SEP] item [SEP] …
        text: number of the text's tokens. The first of them has the index 1.
        ends: index of the [SEP] after each item.
    """

    ids: list[int]
    text: int
    ends: list[int]

    @property
    def text_end(self) -> int:
        """Index of the [SEP] after the text."""
        return self.text + 1


def inputs(
    text: Ids, items: Sequence[Ids], limits: Limits, first: int, separator: int
) -> Iterator[Input]:
    """Distribute the items, in order, over as few inputs as needed, and yield the inputs.

    Args:
        text: the token ids of the text, without special tokens.
        items: the token ids of each item, without special tokens.
        first: the id of [CLS].
        separator: the id of [SEP].
    """
    begun = [first, *text[: limits.text], separator]
    made = Input([*begun], len(begun) - 2, [])
    for each in items:
        ids = [*each[: limits.item], separator]
        if made.ends and len(made.ids) + len(ids) > limits.at_once:
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


@dataclass(frozen=True, slots=True)
class PackedModel:
    """A prepared model that has been opened."""

    tokenizer: Tokenizer
    session: onnxruntime.InferenceSession
    layers: Layers

    def encode(self, text: str, longest: int) -> Encoding:
        """Tokenize enough of a text to get its first `longest` tokens."""
        # One text at a time: a batch would start the tokenizer's own threads.
        beginning = without_surrogates(text[: longest * CHARACTERS_PER_TOKEN])
        return self.tokenizer.encode(beginning, add_special_tokens=False)

    @property
    def special_ids(self) -> tuple[int, int]:
        """The ids of [CLS] and [SEP]."""
        return special_ids(self.tokenizer)

    def inputs(self, text: Ids, items: Sequence[str], limits: Limits) -> Iterator[Input]:
        """Pack a text's token ids with the items."""
        ids = [self.encode(each, limits.item).ids for each in items]
        return inputs(text, ids, limits, *self.special_ids)

    def states(self, made: Input) -> Array:
        """Return the state of each token, shape (tokens, dimensions)."""
        ids = np.array([made.ids], np.int64)
        states: Array = self.session.run(["states"], {"input_ids": ids})[0][0]
        return states

    def linear(self, name: str, x: Array) -> Array:
        """Apply a layer to `x`, shape (…, in). Return shape (…, out)."""
        weight, bias = self.layers[name]
        return np.asarray(x @ weight.T + bias, np.float32)


def read_layers(adapter: Path, purpose: str, shapes: Shapes) -> Layers:
    """Read the layers on top of the encoder from an adapter's folder.

    Args:
        purpose: what the adapter is for, in error messages.

    Raises:
        ModelCorrupt: the layers can't be read, or have other shapes.
    """
    layers = {}
    try:
        tensors = read_tensors(adapter / "adapter_model.safetensors")
        for name, shape in shapes.items():
            weight, bias = (
                np.asarray(tensors[f"{name}.{part}"], np.float32) for part in ("weight", "bias")
            )
            if weight.shape != shape or bias.shape != shape[:1]:
                raise ValueError(f"{name} has the wrong shape")
            layers[name] = (weight, bias)
    except (OSError, ValueError, KeyError, TypeError) as error:
        told = f"The adapter for {purpose} in {adapter} can't be read: {error}."
        raise ModelCorrupt(told) from error
    return layers


class PackingReader(ABC):
    """Base class of the readers of packed inputs: an encoder with an adapter, and layers on top of
    it. The model must have been prepared by `models.encoder.preparation`.

    Args:
        folder: the folder of the prepared model.
        adapter: the folder of the adapter that the model was prepared with.
        threads: number of CPU threads per call.
    """

    GRAPH: ClassVar[str]
    """Name of the prepared file."""
    PURPOSE: ClassVar[str]
    """What the model is for, in error messages."""

    def __init__(self, folder: Path, adapter: Path, *, threads: int = 1) -> None:
        self._folder = folder
        self._adapter = adapter
        self._threads = threads
        self._model: PackedModel | None = None

    @staticmethod
    @abstractmethod
    def shapes(dimensions: int) -> Shapes:
        """Return the shapes of the layers on top of an encoder whose token states have this many
        dimensions."""

    @abstractmethod
    def _warm_up(self) -> None:
        """Read a word."""

    @classmethod
    def layers(cls, adapter: Path, dimensions: int) -> Layers:
        """Read the layers from an adapter's folder.

        Raises:
            ModelCorrupt: the layers can't be read, or don't fit the encoder.
        """
        return read_layers(adapter, cls.PURPOSE, cls.shapes(dimensions))

    def load(self) -> None:
        """Load the model and read a word, so that the first real input is fast. Idempotent.

        Raises:
            ModelMissing: the folder is missing or has not been prepared.
            ModelCorrupt: a file of the model can't be read.
        """
        if self._model is not None:
            return
        what = f"The model for {self.PURPOSE}"
        tokenizer, session = open_prepared(self._folder, self.GRAPH, what, self._threads)
        layers = self.layers(self._adapter, session.get_outputs()[0].shape[-1])
        self._model = PackedModel(tokenizer, session, layers)
        self._warm_up()

    @contextmanager
    def _loaded(self) -> Iterator[PackedModel]:
        """Give the model to a `with` block.

        Raises:
            ModelFailed: the model is not loaded, or the block failed.
        """
        if self._model is None:
            raise ModelFailed(f"The model for {self.PURPOSE} was used before it was loaded.")
        try:
            yield self._model
        except Exception as error:  # onnxruntime's errors have no common base
            told = f"The model for {self.PURPOSE} failed: {first_line(error)}."
            raise ModelFailed(told) from error


def sigmoid(x: Array) -> Array:
    """Convert outputs of a layer to probabilities."""
    return np.asarray(1 / (1 + np.exp(-x)), np.float32)
