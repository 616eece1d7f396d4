"""Speech recognition."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from models.stt.whisper import FasterWhisper
else:
    __getattr__ = exports(__name__)

__all__ = [
    "FasterWhisper",
]
