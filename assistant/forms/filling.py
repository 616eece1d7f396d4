"""Fills the slots of a form from what the user says, by rules alone, and checks what a language
model proposes. English only."""

import re
from collections.abc import Mapping, Sequence
from datetime import date

from assistant.forms.answers import answers
from assistant.forms.corrections import corrections
from assistant.forms.definition import Form, Slot, SlotType
from assistant.forms.named import named
from assistant.forms.proposal import Found, Proposal, Turn, Way
from assistant.forms.spans import spans
from assistant.forms.values import UNKNOWN, Value, read, same_value, says_unknown
from assistant.forms.wording import plain, stripped
from assistant.language.normalisation import APOSTROPHES, content_words

MOST_WORDS = 80
"""Longer utterances are left to the language model."""
_LITTLE = re.compile(
    r"\b(?:i|i'm|i've|i'd|my|it|it's|is|are|was|the|a|an|and|at|on|in|of|for|to|with|have|had|got|that's"
    r"|we|we'll|we're|our|no|wait|also|too|then|so|take|make|change|put)\b"
)
"""Words that tell nothing by themselves beside a value."""
_PAUSES = re.compile(r"[,.;!?]+")


def fill(
    form: Form, filled: Mapping[str, Value], asked_slot: str, utterance: str, today: date
) -> list[Proposal]:
    """Return what an utterance surely gives to the slots of a form.

    Args:
        filled: the slots that have a value, in the order in which they were filled or changed.
        asked_slot: name of the slot that the assistant has just asked for, or empty.
        today: the local date of the utterance.
    """
    text = utterance.translate(APOSTROPHES)
    if not text.strip() or len(text.split()) > MOST_WORDS:
        return []
    turn = Turn(form, filled, form.slot(asked_slot), text, today)
    found: dict[str, Found] = {}
    fixed = list(corrections(turn))
    given = [
        each
        for each in (*answers(turn), *named(turn))
        if not any(_overlap(each, other) and each.slot != other.slot for other in fixed)
    ]
    for each in (*given, *fixed):
        if _better(each, found.get(each.slot.name)) and _may(turn, each):
            found[each.slot.name] = each
    found = _without_overlaps(found, turn)
    whole = _covers(text, list(found.values()))
    return [
        Proposal(
            each.slot.name, each.value, utterance[each.start : each.end].strip(), whole, each.way
        )
        for each in found.values()
    ]


def accept(
    form: Form,
    filled: Mapping[str, Value],
    proposal: Proposal,
    utterance: str,
    today: date,
    asked_slot: str = "",
) -> bool:
    """Return whether a proposal, which may be a language model's, follows from the utterance.

    Its words have to stand there, in a sentence that is no question, supposes nothing and isn't
    about other people, and the value has to follow from them.
    """
    slot = form.slot(proposal.slot)
    text = utterance.translate(APOSTROPHES)
    words = proposal.words.translate(APOSTROPHES).strip()
    at = text.lower().find(words.lower())
    if slot is None or not words or at < 0:
        return False
    turn = Turn(form, filled, form.slot(asked_slot), text, today)
    found = Found(slot, proposal.value, at, at + len(words), proposal.way)
    return _usable(turn, found) and _may(turn, found) and _follows(slot, proposal, words, today)


# -- internals ----------------------------------------------------------------------------------


def _may(turn: Turn, found: Found) -> bool:
    before = turn.filled.get(found.slot.name)
    if found.way is Way.REMOVE:
        return isinstance(before, list)
    if found.way is Way.ADD:
        new = Proposal(found.slot.name, found.value, "", way=found.way).applied(before)
        return before is None or not same_value(new, before)
    return turn.may_put(found.slot, found.value)


def _better(new: Found, old: Found | None) -> bool:
    """Return whether a find replaces another one of its slot. What comes later in the utterance
    corrects what comes before it."""
    return old is None or (new.start >= old.start and new.value != UNKNOWN)


def _without_overlaps(found: dict[str, Found], turn: Turn) -> dict[str, Found]:
    """Drop finds in words that fill another slot more surely: one with a certain type rather than
    a text, then that which is asked for. Words give two slots of one type never two values."""
    kept: dict[str, Found] = {}
    order = sorted(found.values(), key=lambda each: (_loose(each), each.slot != turn.asked))
    for each in order:
        clash = any(_overlap(each, other) and _same_kind(each, other) for other in kept.values())
        if not clash:
            kept[each.slot.name] = each
    return {name: kept[name] for name in found if name in kept}


def _overlap(first: Found, second: Found) -> bool:
    return first.start < second.end and second.start < first.end


def _same_kind(first: Found, second: Found) -> bool:
    same = first.slot.type is second.slot.type
    return same or _loose(first) or _loose(second)


def _loose(found: Found) -> bool:
    """Return whether almost any words would be a value of the slot."""
    return found.slot.type in (SlotType.TEXT, SlotType.LIST)


def _covers(text: str, found: Sequence[Found]) -> bool:
    """Return whether an utterance says nothing beside what was found."""
    if not found:
        return False
    left = text
    for each in found:
        left = left[: each.start] + " " * (each.end - each.start) + left[each.end :]
    rest = " ".join(each for each in _PAUSES.split(left) if not says_unknown(each))
    return not stripped(" ".join(_LITTLE.sub(" ", plain(rest)).split()))


def _usable(turn: Turn, found: Found) -> bool:
    """Return whether words stand in clauses that may fill a form."""
    for sentence in turn.told:
        for clause in sentence.clauses:
            if clause.start < found.end and found.start < clause.end:
                whose = found.slot.asks_who and clause.others and not _asks(clause.text)
                if not clause.usable and not whose:
                    return False
    return True


def _asks(text: str) -> bool:
    return text.rstrip().endswith("?")


def _follows(slot: Slot, proposal: Proposal, words: str, today: date) -> bool:
    """Return whether a value follows from the words."""
    value = proposal.value
    if value == UNKNOWN:
        return says_unknown(words)
    if isinstance(value, list):
        return (value == [] and read(slot, words, today) == []) or _contained(value, words)
    if slot.type is SlotType.TEXT:
        return isinstance(value, str) and _contained([value], words)
    made = read(slot, words, today)
    if made is not None:
        return same_value(made, value)
    return [each for _, each in spans(slot, words, today)] == [value]


def _contained(texts: Sequence[str], words: str) -> bool:
    said = set(content_words(words))
    wanted = [set(content_words(each)) for each in texts]
    return bool(wanted) and all(each and each <= said for each in wanted)
