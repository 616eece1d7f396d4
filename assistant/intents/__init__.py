"""Recognises spoken commands to the assistant, their arguments, and the user's confirmation."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.intents.command import Command, CommandKind, Intent
    from assistant.intents.command_text import normalised
    from assistant.intents.grammar import language
    from assistant.intents.recogniser import ENGLISH, recognise, sounds_like_undo, yes_or_no
else:
    __getattr__ = exports(__name__)

__all__ = [
    "ENGLISH",
    "Command",
    "CommandKind",
    "Intent",
    "language",
    "normalised",
    "recognise",
    "sounds_like_undo",
    "yes_or_no",
]
