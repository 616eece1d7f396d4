"""Sentence encoders. Models built on them recognise intents, fill in forms, judge memories, and
judge whether a speaker's words are complete or interrupt the assistant."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from models.encoder.intents import OnnxIntentClassifier
    from models.encoder.onnx import OnnxEncoder
    from models.encoder.reranker import OnnxReranker
    from models.encoder.slots import OnnxSlotReader
    from models.encoder.turn_judge import OnnxTurnJudge
    from models.encoder.worker import EncoderProcess
else:
    __getattr__ = exports(__name__)

__all__ = [
    "EncoderProcess",
    "OnnxEncoder",
    "OnnxIntentClassifier",
    "OnnxReranker",
    "OnnxSlotReader",
    "OnnxTurnJudge",
]
