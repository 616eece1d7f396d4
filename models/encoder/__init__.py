"""Sentence encoders, and an intent classifier that is based on one."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from models.encoder.intents import OnnxIntentClassifier
    from models.encoder.onnx import OnnxEncoder
    from models.encoder.worker import EncoderProcess
else:
    __getattr__ = exports(__name__)

__all__ = [
    "EncoderProcess",
    "OnnxEncoder",
    "OnnxIntentClassifier",
]
