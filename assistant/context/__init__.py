"""What the language model sees: the conversation, its window, its summary and the prompt."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.context.conversation import Conversation, Exchange, Summary
    from assistant.context.eviction import Importance, no_importance
    from assistant.context.note import Note
    from assistant.context.notes import sanitised
    from assistant.context.prompt import load_prompt
    from assistant.context.relative_dates import relative_date
    from assistant.context.short_term import ShortTermMemory
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Conversation",
    "Exchange",
    "Importance",
    "Note",
    "ShortTermMemory",
    "Summary",
    "load_prompt",
    "no_importance",
    "relative_date",
    "sanitised",
]
