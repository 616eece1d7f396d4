"""Actions that the assistant carries out when the user asks for them."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.skills.correcting import Correcting
    from assistant.skills.exact_answers import ExactAnswers
    from assistant.skills.explaining import NOTHING_SAID, Explaining
    from assistant.skills.forgetting import Forgetting
    from assistant.skills.lifting import Lifting
    from assistant.skills.lists import Lists
    from assistant.skills.notes import Notes
    from assistant.skills.nothing_kept import NothingKept
    from assistant.skills.registry import SkillRegistry
    from assistant.skills.remembering import Remembering
    from assistant.skills.skill import Choice, Remark, Reply, Skill
else:
    __getattr__ = exports(__name__)

__all__ = [
    "NOTHING_SAID",
    "Choice",
    "Correcting",
    "ExactAnswers",
    "Explaining",
    "Forgetting",
    "Lifting",
    "Lists",
    "Notes",
    "NothingKept",
    "Remark",
    "Remembering",
    "Reply",
    "Skill",
    "SkillRegistry",
]
