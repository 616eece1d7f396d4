"""What the user has set up and filled in: timers, alarms, reminders, lists, notes, forms and tasks.

The state is kept in the transcript's database. It is not part of the conversation, so nothing of it
is lost when older turns drop out of the prompt. Skills change the state, as do requests from
commands and the screen.
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
