"""Activities: forms and plans, which the user and the assistant work on over several turns."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.skills.activities.activities import Activities
    from assistant.skills.activities.form_activity import FormActivity
    from assistant.skills.activities.task_activity import TaskActivity
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Activities",
    "FormActivity",
    "TaskActivity",
]
