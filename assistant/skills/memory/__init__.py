"""The skills of the long-term memory: they remember, correct, explain and forget."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.skills.memory.correcting import Correcting
    from assistant.skills.memory.explaining import NOTHING_SAID, Explaining
    from assistant.skills.memory.forgetting import Forgetting
    from assistant.skills.memory.lifting import Lifting
    from assistant.skills.memory.nothing_kept import NothingKept
    from assistant.skills.memory.remembering import Remembering
else:
    __getattr__ = exports(__name__)

__all__ = [
    "NOTHING_SAID",
    "Correcting",
    "Explaining",
    "Forgetting",
    "Lifting",
    "NothingKept",
    "Remembering",
]
