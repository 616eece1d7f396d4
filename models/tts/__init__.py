"""Speech synthesis."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from models.tts.piper import Piper
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Piper",
]
