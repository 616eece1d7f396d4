"""Sentence encoders, and models based on one that recognise intents and fill in forms."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from models.encoder.intents import OnnxIntentClassifier
    from models.encoder.onnx import OnnxEncoder
    from models.encoder.slots import OnnxSlotReader
    from models.encoder.worker import EncoderProcess
else:
    __getattr__ = exports(__name__)

__all__ = [
    "EncoderProcess",
    "OnnxEncoder",
    "OnnxIntentClassifier",
    "OnnxSlotReader",
]
