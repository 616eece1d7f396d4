"""Judges which memories answer a question, with an encoder in onnxruntime.

The model must have been prepared by `models.encoder.preparation`. It is the published encoder with
an adapter, and two linear layers on top of it. It reads the question together with one memory, as
cross-encoders do, and the first layer judges whether the memory answers the question. Or it reads
the question with two memories, and the second layer judges whether the newer memory makes the older
one outdated. `scripts/train_reranker.py` trains the model.
"""

from collections.abc import Sequence
from pathlib import Path

from assistant.errors import ModelFailed
from models.encoder.onnx import first_line, open_prepared
from models.encoder.packing import Layers, Limits, PackedModel, Shapes, read_layers, sigmoid

RERANKER = "reranker.int8.onnx"
MEMORY_LIMITS = Limits(text=32, item=48, at_once=132)
"""The limits of a question, of a memory, and of an input, which has room for two memories."""
PURPOSE = "judging memories"


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

    def judge(self, question: str, memories: Sequence[str]) -> list[float]:
        """Judge the memories. The ends of a long question and of long memories are not read.

        Raises:
            ModelFailed: the model is not loaded, or onnxruntime failed.
        """
        return self._shares("answers", question, [[each] for each in memories])

    def outdated(self, question: str, older: str, newer: str) -> float:
        """Judge whether the newer memory makes the older one outdated. As in `judge`, the ends of
        long texts are not read.

        Raises:
            ModelFailed: the model is not loaded, or onnxruntime failed.
        """
        [share] = self._shares("outdated", question, [[older, newer]])
        return share

    def _shares(self, layer: str, question: str, some: Sequence[Sequence[str]]) -> list[float]:
        """Read the question with each group of memories; return the layer's probabilities."""
        if self._model is None:
            raise ModelFailed(f"The model for {PURPOSE} was used before it was loaded.")
        try:
            asked = self._model.encode(question, MEMORY_LIMITS.text).ids
            return [_share(self._model, layer, asked, each) for each in some]
        except Exception as error:  # onnxruntime's errors have no common base
            told = f"The model for {PURPOSE} failed: {first_line(error)}."
            raise ModelFailed(told) from error


def judging_shapes(dimensions: int) -> Shapes:
    """Return the shapes of the layers on top of an encoder whose token states have this many
    dimensions. They read the state of [CLS]."""
    return {"answers": (1, dimensions), "outdated": (1, dimensions)}


def read_judging_layers(adapter: Path, dimensions: int) -> Layers:
    """Read the layers. Raises ModelCorrupt: they can't be read, or don't fit the encoder."""
    return read_layers(adapter, PURPOSE, judging_shapes(dimensions))


def _share(model: PackedModel, layer: str, asked: Sequence[int], memories: Sequence[str]) -> float:
    [made] = model.inputs(asked, memories, MEMORY_LIMITS)
    return float(sigmoid(model.linear(layer, model.states(made)[0]))[0])
