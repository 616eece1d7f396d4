"""Judges what a speaker's words mean for whose turn it is, with an encoder in onnxruntime.

The model must have been prepared by `models.encoder.preparation`. It is the published encoder with
an adapter, and two linear layers on top of it. It reads the words so far together with what the
assistant said. The first layer judges whether the words are complete; the assistant's question is
read with them, because a short answer is complete. The second layer judges whether words that are
said while the assistant speaks ask it to stop, or only show that somebody listens or talks to
somebody else. `scripts/train_turn_judge.py` trains the model.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from assistant.errors import ModelFailed
from models.encoder.onnx import CHARACTERS_PER_TOKEN, first_line, open_prepared
from models.encoder.packing import Input, Layers, Limits, PackedModel, Shapes, read_layers

TURNS = "turns.int8.onnx"
TURN_LIMITS = Limits(text=48, item=24, at_once=80)
"""The limits of the words, of what the assistant said, and of an input. Of longer texts, only the
end is read."""
PURPOSE = "turns"
END_MARKS = " .,!?;:…-–—\"'”’"
"""Marks at the end of the words. They aren't read, because the recogniser puts a full stop after
anything."""


class OnnxTurnJudge:
    """A `TurnJudge` that runs the prepared model in `folder`.

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
        tokenizer, session = open_prepared(self._folder, TURNS, what, self._threads)
        layers = read_turn_layers(self._adapter, session.get_outputs()[0].shape[-1])
        self._model = PackedModel(tokenizer, session, layers)
        self.complete("warm")

    def complete(self, words: str, question: str = "") -> float:
        """Judge whether the words are complete, as described in `TurnJudge.complete`.

        Raises:
            ModelFailed: the model is not loaded, or onnxruntime failed.
        """
        return self._log_odds("complete", without_end_marks(words), question)

    def interrupts(self, words: str, spoken: str) -> float:
        """Judge whether the words interrupt, as described in `TurnJudge.interrupts`.

        Raises:
            ModelFailed: the model is not loaded, or onnxruntime failed.
        """
        return self._log_odds("interrupts", words, spoken)

    def _log_odds(self, layer: str, words: str, assistant: str) -> float:
        """Read the words with those of the assistant, and return what the layer makes of them."""
        model = self._model
        if model is None:
            raise ModelFailed(f"The model for {PURPOSE} was used before it was loaded.")
        said, other = words.strip(), assistant.strip()
        if not said:
            return 0.0
        try:
            text, item = (
                model.encode(each[-limit * CHARACTERS_PER_TOKEN :], limit)
                for each, limit in ((said, TURN_LIMITS.text), (other, TURN_LIMITS.item))
            )
            made = turn_input(text.ids, item.ids, model.special_ids)
            states = model.states(made)
            both = np.concatenate([states[0], states[made.text]])
            return float(model.linear(layer, both)[0])
        except Exception as error:  # onnxruntime's errors have no common base
            raise ModelFailed(f"The model for {PURPOSE} failed: {first_line(error)}.") from error


def without_end_marks(words: str) -> str:
    return words.rstrip(END_MARKS).lstrip()


def turn_input(words: Sequence[int], assistant: Sequence[int], special: tuple[int, int]) -> Input:
    """Pack the token ids of the words with those of what the assistant said, which may be empty.

    Args:
        special: the ids of [CLS] and [SEP].
    """
    first, separator = special
    said, other = words[-TURN_LIMITS.text :], assistant[-TURN_LIMITS.item :]
    ids = [first, *said, separator, *other, separator]
    return Input(ids, len(said), [len(ids) - 1])


def turn_shapes(dimensions: int) -> Shapes:
    """Return the shapes of the layers on top of an encoder whose token states have this many
    dimensions. They read the states of [CLS] and of the last word's last token."""
    return {"complete": (1, 2 * dimensions), "interrupts": (1, 2 * dimensions)}


def read_turn_layers(adapter: Path, dimensions: int) -> Layers:
    """Read the layers. Raises ModelCorrupt: they can't be read, or don't fit the encoder."""
    return read_layers(adapter, PURPOSE, turn_shapes(dimensions))
