"""Recognises spoken commands to the assistant, their arguments, and the user's confirmation."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.intents.answers import ALL, chosen, refused, sounds_like_undo, yes_or_no
    from assistant.intents.command import (
        ABOUT_OPEN,
        BY_MEANING,
        DELETING,
        Command,
        CommandKind,
        Intent,
    )
    from assistant.intents.command_text import normalised
    from assistant.intents.grammar import language
    from assistant.intents.intent_recogniser import IntentRecogniser, Recognised, not_known
    from assistant.intents.periods import period
    from assistant.intents.recogniser import ENGLISH, recognise
else:
    __getattr__ = exports(__name__)

__all__ = [
    "ABOUT_OPEN",
    "ALL",
    "BY_MEANING",
    "DELETING",
    "ENGLISH",
    "Command",
    "CommandKind",
    "Intent",
    "IntentRecogniser",
    "Recognised",
    "chosen",
    "language",
    "normalised",
    "not_known",
    "period",
    "recognise",
    "refused",
    "sounds_like_undo",
    "yes_or_no",
]
