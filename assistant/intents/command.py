"""A recognised command."""

from dataclasses import dataclass
from enum import StrEnum


class CommandKind(StrEnum):
    """What the user wants. The values are the names of the commands in `data/commands`."""

    STOP = "stop"
    """Stop talking. The command itself is not answered."""
    REPEAT = "repeat"
    """Repeat what the assistant said last."""
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
    """Undo what a command has just done, e.g. restore what was forgotten."""
    KNOW = "know"
    """Say what is remembered about something. "What do you know about Rome?" may also be a general
    question. So if nothing is remembered, the model answers the turn."""
    OFF_RECORD = "off_record"
    ON_RECORD = "on_record"
    FORGET_PERIOD = "forget_period"
    """Forget what was said in a period that is named in another way: "yesterday", "since lunch"."""
    REMEMBER = "remember"
    """Keep a statement, or what was just said, for good."""
    CORRECT = "correct"
    """Correct what the assistant remembers about the user, or has just said about them."""
    WHY = "why"
    """Say what the last answer was based on."""
    WHEN_TOLD = "when_told"
    """Say when the user told something."""
    LIFT = "lift"
    """Take back a lasting wish, or a name by which the user wanted to be called."""


DELETING = frozenset(
    {
        CommandKind.FORGET_THAT,
        CommandKind.FORGET_SPAN,
        CommandKind.FORGET_TODAY,
        CommandKind.FORGET_PERIOD,
        CommandKind.FORGET_CONVERSATION,
        CommandKind.FORGET_ABOUT,
        CommandKind.FORGET_ALL,
    }
)
"""The kinds of commands that delete something."""
PERIODS = frozenset({CommandKind.FORGET_SPAN, CommandKind.FORGET_TODAY})
"""Kinds that the grammar distinguishes from `FORGET_PERIOD`, but the classifier does not."""


@dataclass(frozen=True, slots=True)
class Command:
    """A recognised command.

    `words` is the command's argument, exactly as it stands in the utterance: what is named
    (FORGET_ABOUT, KNOW, WHEN_TOLD, LIFT), the period (FORGET_PERIOD), or the statement (REMEMBER,
    CORRECT). It is None if the utterance only points back ("remember that"), or if KNOW is about
    the user. `minutes` is set for FORGET_SPAN. `for_good` is set for REMEMBER if the user said
    never to forget the statement. Every prompt then contains it. `names_wish` is set for LIFT if
    the user calls it "my wish", "my rule" or the like ("cancel my wish about …").
    """

    kind: CommandKind
    words: str | None = None
    minutes: int | None = None
    for_good: bool = False
    names_wish: bool = False


@dataclass(frozen=True, slots=True)
class Intent:
    """A command that an utterance expresses, certainly or only probably. If it is not `sure`, the
    user must be asked before anything is done."""

    command: Command
    sure: bool = True
