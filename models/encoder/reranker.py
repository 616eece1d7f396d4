"""Judges which memories answer a question, with an encoder in onnxruntime.

The model must have been prepared by `models.encoder.preparation`. It is the published encoder with
an adapter, and two linear layers on top of it. It reads the question together with one memory, as
cross-encoders do, and the first layer judges whether the memory answers the question. Or it reads
the question with two memories, and the second layer judges whether the newer memory makes the older
one outdated. `scripts/train_reranker.py` trains the model.
"""

from collections.abc import Sequence

from models.encoder.packing import Limits, PackedModel, PackingReader, Shapes, sigmoid

MEMORY_LIMITS = Limits(text=32, item=48, at_once=132)
"""The limits of a question, of a memory, and of an input, which has room for two memories."""


class OnnxReranker(PackingReader):
    """A `Reranker` that runs a prepared model."""

    GRAPH = "reranker.int8.onnx"
    PURPOSE = "judging memories"

    @staticmethod
    def shapes(dimensions: int) -> Shapes:
        """Both layers read the state of [CLS]."""
        return {"answers": (1, dimensions), "outdated": (1, dimensions)}

    def _warm_up(self) -> None:
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
        with self._loaded() as model:
            asked = model.encode(question, MEMORY_LIMITS.text).ids
            return [_share(model, layer, asked, each) for each in some]


def _share(model: PackedModel, layer: str, asked: Sequence[int], memories: Sequence[str]) -> float:
    [made] = model.inputs(asked, memories, MEMORY_LIMITS)
    return float(sigmoid(model.linear(layer, model.states(made)[0]))[0])
