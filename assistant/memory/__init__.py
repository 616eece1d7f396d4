"""Long-term memory: what was said and learned, found again, and forgotten on a word."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.memory.forgetting.executor import ForgettingExecutor, LiveConversation
    from assistant.memory.home_copy import convert
    from assistant.memory.retrieval.encoding import QueryEncoder
    from assistant.memory.service import MemoryService, open_memory
    from assistant.memory.store.location import store_location
    from assistant.memory.transcript.conversation_recordings import Recording, Recordings
    from assistant.memory.transcript.database import Transcript
    from assistant.memory.transcript.recorder import Recorder
    from assistant.memory.user_memory import UserMemory
else:
    __getattr__ = exports(__name__)

__all__ = [
    "ForgettingExecutor",
    "LiveConversation",
    "MemoryService",
    "QueryEncoder",
    "Recorder",
    "Recording",
    "Recordings",
    "Transcript",
    "UserMemory",
    "convert",
    "open_memory",
    "store_location",
]
