"""Judges whether a speaker's words are complete or interrupt, with an encoder in onnxruntime.

The model must have been prepared by `models.encoder.preparation`. It is the published encoder with
an adapter, and two linear layers on top of it. It reads the words so far together with what the
assistant said. The first layer judges whether the words are complete, as a short answer to the
assistant's question may be. The second layer judges whether words that are said while the assistant
speaks ask it to stop, or only show that somebody listens or talks to somebody else.
`scripts/train_turn_judge.py` trains the model.
"""

from collections.abc import Sequence

import numpy as np

from models.encoder.onnx import CHARACTERS_PER_TOKEN
from models.encoder.packing import Input, Limits, PackingReader, Shapes

TURN_LIMITS = Limits(text=48, item=24, at_once=80)
"""The limits of the words, of what the assistant said, and of an input. Of longer texts, only the
end is read."""
END_MARKS = " .,!?;:…-–—\"'”’"
"""Marks at the end of the words. They aren't read, because the recogniser puts a full stop after
anything."""


class OnnxTurnJudge(PackingReader):
    """A `TurnJudge` that runs a prepared model."""

    GRAPH = "turns.int8.onnx"
    PURPOSE = "turns"

    @staticmethod
    def shapes(dimensions: int) -> Shapes:
        """Both layers read the states of [CLS] and of the last word's last token."""
        return {"complete": (1, 2 * dimensions), "interrupts": (1, 2 * dimensions)}

    def _warm_up(self) -> None:
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
        """Read the words with those of the assistant, and return the layer's log-odds."""
        said, other = words.strip(), assistant.strip()
        with self._loaded() as model:
            if not said:
                return 0.0
            text, item = (
                model.encode(each[-limit * CHARACTERS_PER_TOKEN :], limit)
                for each, limit in ((said, TURN_LIMITS.text), (other, TURN_LIMITS.item))
            )
            made = turn_input(text.ids, item.ids, model.special_ids)
            states = model.states(made)
            both = np.concatenate([states[0], states[made.text]])
            return float(model.linear(layer, both)[0])


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
