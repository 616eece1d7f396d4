"""A recognised command."""

from collections.abc import Mapping
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
    """Store a statement, or what was just said, as a memory."""
    CORRECT = "correct"
    """Correct what the assistant remembers about the user, or has just said about them."""
    WHY = "why"
    """Say what the last answer was based on."""
    WHEN_TOLD = "when_told"
    """Say when the user told something."""
    LIFT = "lift"
    """Take back a lasting wish, or a name by which the user wanted to be called."""

    TIMER_SET = "timer_set"
    TIMER_LEFT = "timer_left"
    """Say how much time is left on a timer."""
    TIMER_ADD = "timer_add"
    TIMER_TAKE = "timer_take"
    TIMER_PAUSE = "timer_pause"
    TIMER_RESUME = "timer_resume"
    TIMER_CANCEL = "timer_cancel"
    ALARM_SET = "alarm_set"
    ALARM_LIST = "alarm_list"
    ALARM_CANCEL = "alarm_cancel"
    REMINDER_SET = "reminder_set"
    REMINDER_LIST = "reminder_list"
    REMINDER_CANCEL = "reminder_cancel"
    SNOOZE = "snooze"
    """Silence what rings, and let it ring again a little later."""
    LIST_ADD = "list_add"
    LIST_READ = "list_read"
    LIST_TICK = "list_tick"
    """Check an item off: it is done or bought."""
    LIST_REMOVE = "list_remove"
    LIST_CLEAR = "list_clear"
    NOTE_ADD = "note_add"
    NOTE_READ = "note_read"
    NOTE_REMOVE = "note_remove"
    TIME = "time"
    DATE = "date"
    CALCULATE = "calculate"
    """Work out a sum, a percentage, a conversion of units, or the days between two dates."""
    LOUDER = "louder"
    QUIETER = "quieter"
    SLOWER = "slower"
    FASTER = "faster"
    ABILITIES = "abilities"
    """Say what the assistant can do."""
    WHICH_MODEL = "which_model"
    FORM_OPEN = "form_open"
    TASK_OPEN = "task_open"
    """Begin to plan something over several turns."""
    FORM_STATUS = "form_status"
    """Say where the form or the task stands, and what is missing."""
    FORM_READ = "form_read"
    FORM_CANCEL = "form_cancel"
    FORM_DONE = "form_done"
    ACT = "act"
    """Do something that no skill can do, but a tool of another program may: switch the lights, send
    a message, play music. `words` is the whole utterance."""


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


CANCELLING = frozenset(
    {
        *(CommandKind.TIMER_CANCEL, CommandKind.TIMER_PAUSE, CommandKind.TIMER_RESUME),
        *(CommandKind.ALARM_CANCEL, CommandKind.REMINDER_CANCEL),
    }
)
"""Commands that may apply to all things of a kind at once ("both timers")."""


ABOUT_OPEN = frozenset(
    {
        *(CommandKind.FORM_STATUS, CommandKind.FORM_READ),
        *(CommandKind.FORM_CANCEL, CommandKind.FORM_DONE),
    }
)
"""Commands about the form or the task that is open."""


_KINDS = tuple(CommandKind)
BY_MEANING = frozenset(_KINDS[_KINDS.index(CommandKind.TIMER_SET) :])
"""Kinds without patterns in the grammar: only the classifier recognises them."""
ARGUMENTS: Mapping[CommandKind, frozenset[str]] = {
    kind: frozenset(slots.split())
    for slots, kinds in {
        "words": (
            *(CommandKind.FORGET_ABOUT, CommandKind.FORGET_PERIOD, CommandKind.KNOW),
            *(CommandKind.REMEMBER, CommandKind.CORRECT, CommandKind.WHEN_TOLD, CommandKind.LIFT),
            *(CommandKind.NOTE_ADD, CommandKind.NOTE_READ, CommandKind.NOTE_REMOVE),
            CommandKind.CALCULATE,
        ),
        "words when": (CommandKind.REMINDER_SET, CommandKind.REMINDER_CANCEL),
        "words name": (
            *(CommandKind.LIST_ADD, CommandKind.LIST_READ, CommandKind.LIST_TICK),
            CommandKind.LIST_REMOVE,
        ),
        "when": (
            *(CommandKind.ALARM_LIST, CommandKind.REMINDER_LIST, CommandKind.SNOOZE),
            *(CommandKind.DATE, CommandKind.LOUDER, CommandKind.QUIETER),
            *(CommandKind.SLOWER, CommandKind.FASTER),
        ),
        "when name": (
            *(CommandKind.TIMER_SET, CommandKind.TIMER_ADD, CommandKind.TIMER_TAKE),
            *(CommandKind.ALARM_SET, CommandKind.ALARM_CANCEL),
        ),
        "name": (
            *(CommandKind.TIMER_LEFT, CommandKind.TIMER_PAUSE, CommandKind.TIMER_RESUME),
            *(CommandKind.TIMER_CANCEL, CommandKind.LIST_CLEAR, CommandKind.TIME),
            *(CommandKind.FORM_OPEN, CommandKind.TASK_OPEN),
        ),
    }.items()
    for kind in kinds
}
"""Kind of command → the names of the arguments that it may have, as in `Command`. Other kinds have
none."""


@dataclass(frozen=True, slots=True)
class Command:
    """A recognised command.

    `words` is the command's argument, exactly as it stands in the utterance: what is named
    (FORGET_ABOUT, KNOW, WHEN_TOLD, LIFT), the period (FORGET_PERIOD), or the statement (REMEMBER,
    CORRECT). It is None if the utterance only points back ("remember that"), or if KNOW is about
    the user. `minutes` is set for FORGET_SPAN, and for SLEEP if the user names a duration. If the
    user instead says when the sleep ends ("until eight"), `when` is everything after "until".
    `for_good` is set for REMEMBER if the user said never to forget the statement. Every prompt then
    contains it. `names_wish` is set for LIFT if the user calls it "my wish", "my rule" or the like
    ("cancel my wish about …").

    The arguments of all other kinds are quoted from the utterance, too: `words` is the subject (a
    reminder's topic, the items of a list, the text of a note, what to calculate), `when` is the
    time, the duration or the amount, and `name` is the name of a timer, a list, a place, a form or
    a task. `every` is set if the user means all things of a kind ("cancel both timers").
    """

    kind: CommandKind
    words: str | None = None
    minutes: int | None = None
    for_good: bool = False
    names_wish: bool = False
    when: str | None = None
    name: str | None = None
    every: bool = False


@dataclass(frozen=True, slots=True)
class Intent:
    """A command that an utterance certainly or probably expresses. If it is not `sure`, the user
    must be asked before anything is done."""

    command: Command
    sure: bool = True
