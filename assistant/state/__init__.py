"""What the user has set up and filled in: timers, alarms, reminders, lists, notes, forms and tasks.

It is kept in the transcript's database, outside of the conversation, so that nothing of it is lost
when the conversation goes on. It changes only by what skills do.
"""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.state.entries import Change, Entry, EntryKind
    from assistant.state.requests import ACTS, StateRequests
    from assistant.state.store import StateStore
    from assistant.state.stored_words import StoredWords
else:
    __getattr__ = exports(__name__)

__all__ = [
    "ACTS",
    "Change",
    "Entry",
    "EntryKind",
    "StateRequests",
    "StateStore",
    "StoredWords",
]
