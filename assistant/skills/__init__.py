"""Actions that the assistant carries out when the user asks for them."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.skills.abilities import Abilities, ModelInUse
    from assistant.skills.correcting import Correcting
    from assistant.skills.explaining import NOTHING_SAID, Explaining
    from assistant.skills.forgetting import Forgetting
    from assistant.skills.lifting import Lifting
    from assistant.skills.nothing_kept import NothingKept
    from assistant.skills.registry import SkillRegistry
    from assistant.skills.remembering import Remembering
    from assistant.skills.skill import Choice, Remark, Reply, Skill
else:
    __getattr__ = exports(__name__)

__all__ = [
    "NOTHING_SAID",
    "Abilities",
    "Choice",
    "Correcting",
    "Explaining",
    "Forgetting",
    "Lifting",
    "ModelInUse",
    "NothingKept",
    "Remark",
    "Remembering",
    "Reply",
    "Skill",
    "SkillRegistry",
]
