"""Describes slots for the model that reads what an utterance gives to them. It is trained with the
same descriptions."""

from assistant.forms.definition import Slot, SlotType
from models.interfaces import DescribedSlot

ASKED = "asked: "
"""Stands before the slot for which the assistant has just asked."""


def described(slot: Slot, filled: str, *, asked: bool) -> DescribedSlot:
    """Describe a slot.

    Args:
        filled: what is in it, in words; empty if it is empty.
    """
    name = ", ".join((slot.label, *slot.cues))
    kind = f"{slot.type} in {slot.unit}" if slot.unit else str(slot.type)
    text = f"{ASKED if asked else ''}{name}: {slot.ask} {kind}"
    options = tuple(f"{slot.label}: {each}" for each in slot.choices)
    if slot.type is not SlotType.CHOICE:
        options = ()
    return DescribedSlot(f"{text} = {filled}" if filled else text, options)
