"""Actions that the assistant carries out when the user asks for them."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.skills.answered_turns import AnsweredTurns
    from assistant.skills.explaining import Explaining
    from assistant.skills.forgetting import Forgetting
    from assistant.skills.nothing_kept import NothingKept
    from assistant.skills.registry import SkillRegistry
    from assistant.skills.skill import Choice, Reply, Skill
else:
    __getattr__ = exports(__name__)

__all__ = [
    "AnsweredTurns",
    "Choice",
    "Explaining",
    "Forgetting",
    "NothingKept",
    "Reply",
    "Skill",
    "SkillRegistry",
]
