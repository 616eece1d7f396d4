"""Sentence encoders."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from models.encoder.onnx import OnnxEncoder
    from models.encoder.worker import EncoderProcess
else:
    __getattr__ = exports(__name__)

__all__ = [
    "EncoderProcess",
    "OnnxEncoder",
]
