"""Puts errors into sentences that can be spoken, without paths or commands."""

import re

from assistant.errors import AssistantError
from assistant.events import Notice, Severity
from assistant.skills.skill import Reply

UNSPEAKABLE = "My memory can't be read or written right now. The reason is on the screen."
_WRITTEN = re.compile(r"[/\\`_]|\w\.\w|--|://")
"""Matches text that makes no sense when spoken: paths, addresses, commands."""


def spoken(error: AssistantError) -> str:
    """Return the error's sentence, or a plainer one if the sentence can't be read aloud."""
    sentence = str(error)
    return UNSPEAKABLE if _WRITTEN.search(sentence) else sentence


def notice(error: AssistantError) -> Notice:
    """Return the error with its advice, to be shown on the screen."""
    return Notice(str(error), Severity.WARNING, error.mend)


def failed(error: AssistantError) -> Reply:
    """Return the reply to a command that failed with this error."""
    return Reply(spoken(error), notice=notice(error))
