"""Determines what the language model sees: conversation, summary, memories and instructions."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.context.conversation import (
        Conversation,
        Exchange,
        Importance,
        Summary,
        no_importance,
    )
    from assistant.context.not_known import (
        NOT_ONLINE,
        NOT_THERE,
        NOT_TOLD,
        WITH_TOOLS,
        NotKnown,
        is_fixed,
    )
    from assistant.context.prompt import load_prompt
    from assistant.context.sanitising import sanitised
    from assistant.context.short_term import ShortTermMemory
    from assistant.context.structured_output import (
        FewShotPrompt,
        ask_for_json,
        examples,
        shipped,
    )
else:
    __getattr__ = exports(__name__)

__all__ = [
    "NOT_ONLINE",
    "NOT_THERE",
    "NOT_TOLD",
    "WITH_TOOLS",
    "Conversation",
    "Exchange",
    "FewShotPrompt",
    "Importance",
    "NotKnown",
    "ShortTermMemory",
    "Summary",
    "ask_for_json",
    "examples",
    "is_fixed",
    "load_prompt",
    "no_importance",
    "sanitised",
    "shipped",
]
