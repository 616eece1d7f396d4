"""Describes slots for the model that finds their values in an utterance. Its training data
describes slots the same way, but gives a slot's value in the user's own words."""

from assistant.forms.definition import Slot, SlotType
from models.interfaces import DescribedSlot

MOST_WORDS = 14
"""Maximum number of words taken from a question, and from a label with its cues, so that the text
after them is not cut off."""
ASKED = "asked: "
"""Precedes the description of the slot for which the assistant has just asked."""


def described(slot: Slot, filled: str, *, asked: bool) -> DescribedSlot:
    """Describe a slot.

    Args:
        filled: the slot's value in words; an empty string if it has none.
    """
    name = _first(", ".join((slot.label, *slot.cues)))
    kind = f"{slot.type} in {slot.unit}" if slot.unit else str(slot.type)
    text = f"{ASKED if asked else ''}{name}: {_first(slot.ask)} {kind}"
    options = tuple(f"{slot.label}: {each}" for each in slot.choices)
    if slot.type is not SlotType.CHOICE:
        options = ()
    return DescribedSlot(f"{text} = {filled}" if filled else text, options)


def _first(words: str) -> str:
    return " ".join(words.split()[:MOST_WORDS])
