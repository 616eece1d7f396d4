"""A command that was recognised."""

from dataclasses import dataclass
from enum import StrEnum


class CommandKind(StrEnum):
    """What is wanted. The values are the names of the kinds in `data/commands`."""

    STOP = "stop"
    """Be silent; nothing is answered."""
    REPEAT = "repeat"
    """Say the last answer again."""
    SLEEP = "sleep"
    """Heed nothing until woken."""
    WAKE = "wake"
    FORGET_THAT = "forget_that"
    """What was just said, or the answer that was just given."""
    FORGET_SPAN = "forget_span"
    """The last `minutes`."""
    FORGET_TODAY = "forget_today"
    FORGET_CONVERSATION = "forget_conversation"
    """The running one."""
    FORGET_ABOUT = "forget_about"
    FORGET_ALL = "forget_all"
    """Everything that is known of the user."""
    UNDO = "undo"
    """Keep what was just forgotten."""
    KNOW = "know"
    """Tell what is remembered about something. Asked of Rome it is a question for the model: so
    whoever finds nothing remembered lets it pass."""
    OFF_RECORD = "off_record"
    ON_RECORD = "on_record"


@dataclass(frozen=True, slots=True)
class Command:
    """A spoken command.

    `about` has FORGET_ABOUT, in the user's words ("my dog", "Anna"), and KNOW, where None is the
    user; `minutes` has FORGET_SPAN.
    """

    kind: CommandKind
    about: str | None = None
    minutes: int | None = None
