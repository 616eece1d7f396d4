"""Timers, alarms and reminders: they are set, changed and cancelled, and ring when they are due."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.skills.due.alarms import Alarms
    from assistant.skills.due.clocks import Clocks
    from assistant.skills.due.due import DueWatch, Ringer
    from assistant.skills.due.due_entries import DueEntries
    from assistant.skills.due.due_times import due_at, is_over
    from assistant.skills.due.reminders import Reminders
    from assistant.skills.due.snoozing import Snoozing
    from assistant.skills.due.timers import Timers
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Alarms",
    "Clocks",
    "DueEntries",
    "DueWatch",
    "Reminders",
    "Ringer",
    "Snoozing",
    "Timers",
    "due_at",
    "is_over",
]
