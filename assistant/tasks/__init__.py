"""Tasks: what the user and the assistant plan over several turns, and what is settled so far.

A task consists of lines in the user's own words. Rules decide what becomes a line, and which
older line it replaces.
"""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.tasks.listening import settled
    from assistant.tasks.merging import Merging
    from assistant.tasks.rendering import block, memory_text, read_aloud
    from assistant.tasks.stored_tasks import Opening, StoredTasks
    from assistant.tasks.task import Line, Task, task_is_open, tasks_of
    from assistant.tasks.titles import Title, called, plain_name, title
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Line",
    "Merging",
    "Opening",
    "StoredTasks",
    "Task",
    "Title",
    "block",
    "called",
    "memory_text",
    "plain_name",
    "read_aloud",
    "settled",
    "task_is_open",
    "tasks_of",
    "title",
]
