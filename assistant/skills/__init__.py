"""Actions that the assistant carries out when the user asks for them."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.skills.answer_sources import AnswerSources
    from assistant.skills.memory_by_voice import MemoryCommands
    from assistant.skills.skill import Reply, Skill
else:
    __getattr__ = exports(__name__)

__all__ = [
    "AnswerSources",
    "MemoryCommands",
    "Reply",
    "Skill",
]
