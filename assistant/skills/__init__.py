"""Actions that the assistant carries out on request."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.skills.memory_by_voice import MemoryCommands
else:
    __getattr__ = exports(__name__)

__all__ = [
    "MemoryCommands",
]
