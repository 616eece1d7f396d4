"""Decides what the classifier's probabilities are worth."""

from assistant.intents.command import Command, CommandKind, Intent
from models.interfaces import ClassifiedText

SURE, ASKED = 0.97, 0.75
"""Probabilities from which a command is carried out, or asked about."""
WORDED = frozenset(
    {
        CommandKind.FORGET_ABOUT,
        CommandKind.FORGET_PERIOD,
        CommandKind.KNOW,
        CommandKind.REMEMBER,
        CommandKind.CORRECT,
        CommandKind.WHEN_TOLD,
        CommandKind.LIFT,
    }
)
NEED_WORDS = frozenset({CommandKind.FORGET_ABOUT, CommandKind.FORGET_PERIOD})


def intent_of(found: ClassifiedText, text: str) -> Intent | None:
    """The likeliest intent if it is likely enough, otherwise None."""
    name = max(found.probabilities, key=lambda each: found.probabilities[each])
    kind, probability = CommandKind(name), found.probabilities[name]
    words = found.words if kind in WORDED and found.words and found.words in text else None
    if probability < ASKED or (words is None and kind in NEED_WORDS):
        return None
    return Intent(Command(kind, words), sure=probability >= SURE)
