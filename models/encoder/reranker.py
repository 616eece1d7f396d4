"""Judges which memories answer a question, with an encoder in onnxruntime.

The model must have been prepared by `models.encoder.preparation`. It is the published encoder with
an adapter, and two linear layers on top of it. It reads the question together with all memories, so
that a memory is judged in the light of the others: one that came later may outdate it. The first
layer judges each memory, the second whether all of them together leave the question unanswered.
`scripts/train_reranker.py` trains the model.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from assistant.errors import ModelFailed
from models.encoder.onnx import first_line, open_prepared
from models.encoder.packing import Input, Layers, Limits, PackedModel, Shapes, read_layers, sigmoid
from models.interfaces import JudgedMemories, JudgedMemory

RERANKER = "reranker.int8.onnx"
MEMORY_LIMITS = Limits(text=48, item=40, at_once=440)
"""Of a question, a memory and an input."""
PURPOSE = "ranking memories"


class OnnxReranker:
    """A `Reranker` that runs the prepared model in `folder`.

    Args:
        adapter: the folder of the adapter that the model was prepared with.
        threads: number of CPU threads per call.
    """

    def __init__(self, folder: Path, adapter: Path, *, threads: int = 2) -> None:
        self._folder = folder
        self._adapter = adapter
        self._threads = threads
        self._model: PackedModel | None = None

    def load(self) -> None:
        """Load the model and judge a word, so that the first question is fast. Idempotent.

        Raises:
            ModelMissing: the folder is missing or has not been prepared.
            ModelCorrupt: a file of the model can't be read.
        """
        if self._model is not None:
            return
        what = f"The model for {PURPOSE}"
        tokenizer, session = open_prepared(self._folder, RERANKER, what, self._threads)
        layers = read_judging_layers(self._adapter, session.get_outputs()[0].shape[-1])
        self._model = PackedModel(tokenizer, session, layers)
        self.judge("warm", ["warm"])

    def judge(self, question: str, memories: Sequence[str]) -> JudgedMemories:
        """Judge the memories, oldest first. The ends of long ones are not read, nor are the last
        memories if all together are too long for one input.

        Raises:
            ModelFailed: the model is not loaded, or onnxruntime failed.
        """
        if self._model is None:
            raise ModelFailed(f"The model for {PURPOSE} was used before it was loaded.")
        if not memories:
            return JudgedMemories((), 1.0)
        try:
            asked = self._model.encode(question, MEMORY_LIMITS.text).ids
            made = next(self._model.inputs(asked, memories, MEMORY_LIMITS))
            return _judged(self._model, made, len(memories))
        except Exception as error:  # onnxruntime's errors have no common base
            told = f"The model for {PURPOSE} failed: {first_line(error)}."
            raise ModelFailed(told) from error


def judging_shapes(dimensions: int) -> Shapes:
    """Return the shapes of the layers on top of an encoder whose token states have so many
    dimensions. The first reads a memory's [SEP], [CLS], and the product of the memory's and the
    question's [SEP]; the second reads [CLS] and the question's [SEP]."""
    return {"memory": (2, 3 * dimensions), "unanswered": (1, 2 * dimensions)}


def read_judging_layers(adapter: Path, dimensions: int) -> Layers:
    """Read the layers. Raises ModelCorrupt: they can't be read, or don't fit the encoder."""
    return read_layers(adapter, PURPOSE, judging_shapes(dimensions))


def _judged(model: PackedModel, made: Input, count: int) -> JudgedMemories:
    """Judge the memories in an input, which may be fewer than all `count`."""
    states = model.states(made)
    memories, whole, question = states[made.ends], states[0], states[made.text_end]
    beside = np.broadcast_to(whole, memories.shape)
    read = np.concatenate([memories, beside, memories * question], axis=1)
    found: list[JudgedMemory | None] = [
        JudgedMemory(answers=answers, outdated=outdated)
        for answers, outdated in sigmoid(model.linear("memory", read)).tolist()
    ]
    unread = [None] * (count - len(found))
    unanswered = model.linear("unanswered", np.concatenate([whole, question]))
    return JudgedMemories((*found, *unread), float(sigmoid(unanswered)[0]))
