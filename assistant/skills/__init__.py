"""Actions that the assistant carries out when the user asks for them."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.skills.abilities import Abilities, ModelInUse
    from assistant.skills.activities import Activities, FormActivity, TaskActivity
    from assistant.skills.due import (
        Alarms,
        Clocks,
        DueEntries,
        DueWatch,
        Reminders,
        Ringer,
        Snoozing,
        Timers,
        due_at,
        is_over,
    )
    from assistant.skills.exact_answers import ExactAnswers
    from assistant.skills.lists import Lists, Notes
    from assistant.skills.memory import (
        NOTHING_SAID,
        Correcting,
        Explaining,
        Forgetting,
        Lifting,
        NothingKept,
        Remembering,
    )
    from assistant.skills.only_now import OnlyNow
    from assistant.skills.registry import SkillRegistry
    from assistant.skills.skill import Choice, Remark, Reply, Skill
    from assistant.skills.tools import Tools
else:
    __getattr__ = exports(__name__)

__all__ = [
    "NOTHING_SAID",
    "Abilities",
    "Activities",
    "Alarms",
    "Choice",
    "Clocks",
    "Correcting",
    "DueEntries",
    "DueWatch",
    "ExactAnswers",
    "Explaining",
    "Forgetting",
    "FormActivity",
    "Lifting",
    "Lists",
    "ModelInUse",
    "Notes",
    "NothingKept",
    "OnlyNow",
    "Remark",
    "Remembering",
    "Reminders",
    "Reply",
    "Ringer",
    "Skill",
    "SkillRegistry",
    "Snoozing",
    "TaskActivity",
    "Timers",
    "Tools",
    "due_at",
    "is_over",
]
