"""Finds values whose slots the user names: "my temperature is 38.5, and I'm allergic to
penicillin". English only."""

import re
from collections.abc import Iterator
from functools import cache

from assistant.forms.answers import items
from assistant.forms.clauses import Told
from assistant.forms.definition import Slot, SlotType
from assistant.forms.proposal import Found, Turn
from assistant.forms.spans import spans
from assistant.forms.values import Value, label_is, mentions, read, says_none
from assistant.forms.wording import plain, without_lead
from assistant.language.word_lists import words_of

LONGEST_BOOL = 8
_COUNTED = (SlotType.DATE, SlotType.TIME, SlotType.NUMBER)
_NOT = re.compile(r"\b(?:not|never|no longer|\w+n't)\b")
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'll|we|we'll|we're|my|it's|it)\b")
_IS = r"(?:\s+(?:is|are|was|will be|should be|would be|to|at)|\s*[:=])\s+"


def named(turn: Turn) -> Iterator[Found]:
    """Yield the values that stand beside the names of their slots."""
    for sentence in turn.told:
        for at, clause in enumerate(sentence.clauses):
            if clause.usable:
                yield from _named(turn, sentence, at)


def _named(turn: Turn, sentence: Told, at: int) -> Iterator[Found]:
    clause = sentence.clauses[at]
    said = plain(clause.text)
    meant = [each for each in turn.form.slots if _means(each, said)]
    types = [each.type for each in meant]
    for slot in meant:
        if (
            slot.type in (SlotType.DATE, SlotType.TIME, SlotType.NUMBER)
            and types.count(slot.type) > 1
        ):
            continue
        if slot.type in _COUNTED and _NOT.search(said):
            continue
        end, value = _value(turn, slot, sentence, at)
        if value is not None:
            yield Found(slot, value, clause.start, end, turn.way_for(slot))


def _value(turn: Turn, slot: Slot, sentence: Told, at: int) -> tuple[int, Value | None]:
    """Return the value that a clause gives a slot that it names, and where the words end."""
    clause = sentence.clauses[at]
    if slot.type is SlotType.LIST:
        return _listed(slot, sentence, at)
    if slot.type is SlotType.BOOL:
        said = plain(clause.text)
        short = len(said.split()) <= LONGEST_BOOL and _FIRST_PERSON.search(said) is not None
        return clause.end, read(slot, clause.text, turn.today) if short else None
    if slot.type is SlotType.CHOICE:
        return clause.end, read(slot, clause.text, turn.today)
    if slot.type is SlotType.TEXT:
        match = label_is(slot).search(clause.text)
        value = read(slot, clause.text[match.end() :], turn.today) if match else None
        named = isinstance(value, str) and items(value) is not None
        return clause.end, value if named else None
    found = spans(slot, clause.text, turn.today)
    return clause.end, found[0][1] if len(found) == 1 else None


def _listed(slot: Slot, sentence: Told, at: int) -> tuple[int, Value | None]:
    """Read what follows the name of a list, up to the next clause that isn't an item."""
    clause = sentence.clauses[at]
    if says_none(slot, clause.text):
        return clause.end, []
    match = re.search(rf"{mentions(slot).pattern}(?:{_IS}|\s+)", clause.text, re.IGNORECASE)
    if match is None:
        return clause.end, None
    end, found = clause.end, items(without_lead(clause.text[match.end() :], "before_list"))
    for more in sentence.clauses[at + 1 :] if found else ():
        further = items(more.text) if more.usable else None
        if further is None:
            break
        found, end = [*(found or []), *further], more.end
    return end, found


def _means(slot: Slot, said: str) -> bool:
    """Return whether a clause names a slot. Words that are too common have to stand as its name,
    as in "the day is Friday"."""
    if slot.type is SlotType.CHOICE:
        return _FIRST_PERSON.search(said) is not None or said.startswith("by ")
    if slot.type is SlotType.TEXT or slot.type is SlotType.TIME:
        return label_is(slot).search(said) is not None
    named_by = {each.lower() for each in (slot.label, *slot.cues)}
    rare = named_by - words_of("forms", "common")
    if slot.type is SlotType.LIST and slot.label in rare and not (rare - {slot.label}):
        return label_is(slot).search(said) is not None
    found = mentions(slot).search(said)
    if found is None:
        return False
    return (bool(rare) and _rare(slot).search(said) is not None) or label_is(slot).search(
        said
    ) is not None


@cache
def _rare(slot: Slot) -> re.Pattern[str]:
    """Return a pattern for those names of a slot that are not too common."""
    common = words_of("forms", "common")
    kept = [each for each in slot.cues if each.lower() not in common]
    label = slot.label if slot.label.lower() not in common else slot.name.replace("_", " ")
    return mentions(slot.model_copy(update={"cues": tuple(kept), "label": label}))
