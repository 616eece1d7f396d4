"""A recognised command."""

from dataclasses import dataclass
from enum import StrEnum


class CommandKind(StrEnum):
    """What the user wants. The values are the names of the commands in `data/commands`."""

    STOP = "stop"
    """Stop talking. The command itself is not answered."""
    REPEAT = "repeat"
    """Repeat the last answer."""
    SLEEP = "sleep"
    """Ignore all speech except the command to wake up."""
    WAKE = "wake"
    FORGET_THAT = "forget_that"
    """Forget the user's last words, or the last answer."""
    FORGET_SPAN = "forget_span"
    """Forget what was said in the last `minutes`."""
    FORGET_TODAY = "forget_today"
    FORGET_CONVERSATION = "forget_conversation"
    """Forget the running conversation."""
    FORGET_ABOUT = "forget_about"
    FORGET_ALL = "forget_all"
    """Forget everything known about the user."""
    UNDO = "undo"
    """Restore what was just forgotten."""
    KNOW = "know"
    """Say what is remembered about something. "What do you know about Rome?" may also be a general
    question. So if nothing is remembered, the model answers the turn."""
    OFF_RECORD = "off_record"
    ON_RECORD = "on_record"


@dataclass(frozen=True, slots=True)
class Command:
    """A spoken command.

    `about` is set for FORGET_ABOUT, in the user's words ("my dog", "Anna"), and for KNOW, where
    None means the user. `minutes` is set for FORGET_SPAN.
    """

    kind: CommandKind
    about: str | None = None
    minutes: int | None = None
