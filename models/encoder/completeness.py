"""Judges whether a speaker's words are complete, with an encoder in onnxruntime.

The model must have been prepared by `models.encoder.preparation`. It is the published encoder with
an adapter, and one linear layer on top of it. It reads the words so far together with the
assistant's question that they may answer, because a short answer to a question is complete.
`scripts/train_completeness.py` trains the model.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from assistant.errors import ModelFailed
from models.encoder.onnx import CHARACTERS_PER_TOKEN, first_line, open_prepared
from models.encoder.packing import Input, Layers, Limits, PackedModel, Shapes, read_layers

COMPLETENESS = "completeness.int8.onnx"
TURN_LIMITS = Limits(text=48, item=24, at_once=80)
"""The limits of the words, of the question, and of an input. Of longer words or a longer question,
only the end is read."""
PURPOSE = "the end of turns"
END_MARKS = " .,!?;:…-–—\"'”’"
"""Marks at the end of the words. They aren't read, because the recogniser puts a full stop after
anything."""


class OnnxCompleteness:
    """A `Completeness` that runs the prepared model in `folder`.

    Args:
        adapter: the folder of the adapter that the model was prepared with.
        threads: number of CPU threads per call.
    """

    def __init__(self, folder: Path, adapter: Path, *, threads: int = 1) -> None:
        self._folder = folder
        self._adapter = adapter
        self._threads = threads
        self._model: PackedModel | None = None

    def load(self) -> None:
        """Load the model and judge a word, so that the first turn is fast. Idempotent.

        Raises:
            ModelMissing: the folder is missing or has not been prepared.
            ModelCorrupt: a file of the model can't be read.
        """
        if self._model is not None:
            return
        what = f"The model for {PURPOSE}"
        tokenizer, session = open_prepared(self._folder, COMPLETENESS, what, self._threads)
        layers = read_completeness_layers(self._adapter, session.get_outputs()[0].shape[-1])
        self._model = PackedModel(tokenizer, session, layers)
        self.log_odds("warm")

    def log_odds(self, words: str, question: str = "") -> float:
        """Judge whether the words are complete, as described in `Completeness.log_odds`.

        Raises:
            ModelFailed: the model is not loaded, or onnxruntime failed.
        """
        model = self._model
        if model is None:
            raise ModelFailed(f"The model for {PURPOSE} was used before it was loaded.")
        said, asked = without_end_marks(words), question.strip()
        if not said:
            return 0.0
        try:
            text, item = (
                model.encode(each[-limit * CHARACTERS_PER_TOKEN :], limit)
                for each, limit in ((said, TURN_LIMITS.text), (asked, TURN_LIMITS.item))
            )
            made = turn_input(text.ids, item.ids, model.special_ids)
            states = model.states(made)
            both = np.concatenate([states[0], states[made.text]])
            return float(model.linear("complete", both)[0])
        except Exception as error:  # onnxruntime's errors have no common base
            raise ModelFailed(f"The model for {PURPOSE} failed: {first_line(error)}.") from error


def without_end_marks(words: str) -> str:
    return words.rstrip(END_MARKS).lstrip()


def turn_input(words: Sequence[int], question: Sequence[int], special: tuple[int, int]) -> Input:
    """Pack the token ids of the words with those of the question, which may be empty.

    Args:
        special: the ids of [CLS] and [SEP].
    """
    first, separator = special
    said, asked = words[-TURN_LIMITS.text :], question[-TURN_LIMITS.item :]
    ids = [first, *said, separator, *asked, separator]
    return Input(ids, len(said), [len(ids) - 1])


def completeness_shapes(dimensions: int) -> Shapes:
    """Return the shape of the layer on top of an encoder whose token states have this many
    dimensions. It reads the states of [CLS] and of the last word's last token."""
    return {"complete": (1, 2 * dimensions)}


def read_completeness_layers(adapter: Path, dimensions: int) -> Layers:
    """Read the layer. Raises ModelCorrupt: it can't be read, or doesn't fit the encoder."""
    return read_layers(adapter, PURPOSE, completeness_shapes(dimensions))
