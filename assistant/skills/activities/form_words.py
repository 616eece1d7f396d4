"""Sentences about forms."""

from collections.abc import Sequence
from datetime import date

from assistant.forms import UNKNOWN, Filled, Form, PutInSlot, Slot, SlotType, spoken
from assistant.language.enumerations import joined
from assistant.language.numbers import number_word
from assistant.language.second_person import spoken_topic

MOST = 3
"""Maximum number of empty slots that are named."""
ALL_THERE = "That's everything. Shall I read it back?"
CLEAR = ("All right.", "Okay.", "Got it.", "Right.")
"""Used in rotation to acknowledge values that need not be repeated."""
_REPEATED = (SlotType.DATE, SlotType.TIME, SlotType.NUMBER)
"""Types whose values may have been misheard or misread, and so are repeated."""


def name_of(form: Form) -> str:
    """Return a form's name as part of a sentence: "the medical intake form"."""
    title = form.title
    plain = title if title[1:2].isupper() else f"{title[:1].lower()}{title[1:]}"
    return f"the {plain}" if plain.lower().endswith("form") else f"the {plain} form"


def titles(forms: Sequence[Form], word: str = "and") -> str:
    return joined(
        [name_of(each).removeprefix("the ").removesuffix(" form") for each in forms], word
    )


def understood(changes: Sequence[PutInSlot], today: date, turn: int) -> str:
    """Return the acknowledgement of what was filled in. Only what may have been misunderstood is
    repeated.

    Args:
        turn: a number that grows with each utterance; it varies the wording.
    """
    said = [each for each in (_repeated(change, today) for change in changes) if each]
    return " ".join(said) if said else CLEAR[turn % len(CLEAR)]


def _repeated(change: PutInSlot, today: date) -> str:
    if change.value == UNKNOWN:
        return "That's fine."
    before = change.before["value"] if change.before is not None else None
    value = spoken(change.slot, change.value, today)
    if isinstance(change.value, list) and isinstance(before, list):
        gone = [spoken_topic(each) for each in before if each not in change.value]
        return f"All right, without {joined(gone)}." if gone else ""
    if before is not None and before != UNKNOWN:
        return f"All right, {value}."
    return _sentence(value) if change.slot.type in _REPEATED else ""


def what_changed(changes: Sequence[PutInSlot], today: date) -> str:
    """Return what was filled in as part of "The last thing I did was …"."""
    parts = [f"{each.slot.label}: {spoken(each.slot, each.value, today)}" for each in changes]
    return f"put down {joined(parts)}"


def contents(filled: Sequence[Filled], today: date) -> str:
    """Return the sentences that read these values out, in the given order."""
    return " ".join(
        f"{_upper(each.label)}: {spoken(each.slot, each.value, today)}."
        for each in filled
        if each.slot is not None
    )


def missing(slots: Sequence[Slot]) -> str:
    """Return the sentence that says what is missing."""
    if len(slots) == 1:
        return f"Only one thing is missing: {slots[0].label}."
    names = joined([each.label for each in slots], most=MOST)
    return f"{_upper(number_word(len(slots)))} things are missing: {names}."


def answers(count: int) -> str:
    return "one answer" if count == 1 else f"{number_word(count)} answers"


def _sentence(text: str) -> str:
    return f"{_upper(text)}."


def _upper(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
