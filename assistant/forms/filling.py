"""Finds what an utterance gives to the slots of a form.

A small model marks the words that answer each slot's question (`models.encoder.slots`), and rules
read the value from these words. So nothing can be made up: a value always follows from words of the
user, and words that give no value of the slot's type fill nothing. English only.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from assistant.forms.definition import Form, Slot, SlotType
from assistant.forms.described import described
from assistant.forms.proposal import Proposal, Way
from assistant.forms.spans import spans
from assistant.forms.values import LONGEST_TEXT, MOST_ITEMS, UNKNOWN, Value, read, value_words
from assistant.language.stemming import TextAnalyzer
from models.interfaces import ReadSlot, SlotAct, SlotReader, SlotWords

SURE = 0.5
"""Least probability with which the slot that was asked for is filled,"""
SURE_UNASKED = 0.7
"""another one that is empty or not known,"""
SURE_TO_CHANGE = 0.9
"""and another one that has a value."""
TALKS = 0.5
"""Least probability with which an utterance also says something to which one would respond."""
_YES_OR_NO = {SlotAct.YES: True, SlotAct.NO: False}


@dataclass(frozen=True, slots=True)
class Filling:
    """What an utterance gives to a form. `whole` is whether it says nothing else, so that the
    language model need not answer."""

    proposals: Sequence[Proposal]
    whole: bool


class FormReader:
    """Reads what utterances give to forms.

    Args:
        reader: need not be loaded yet; that takes some 50 ms at the first utterance.
    """

    def __init__(self, reader: SlotReader) -> None:
        self._reader = reader
        self._lexicon = TextAnalyzer("en")

    def fill(
        self, form: Form, filled: Mapping[str, Value], asked: str, utterance: str, today: date
    ) -> Filling:
        """Return what an utterance gives to a form. Blocks for some 10 ms.

        Args:
            filled: the slots that have a value.
            asked: name of the slot for which the assistant has just asked, or empty.
            today: the local date of the utterance.

        Raises:
            ModelError: the model is missing or damaged, or has failed.
        """
        if not utterance.strip():
            return Filling((), whole=False)
        self._reader.load()
        slots = [
            described(
                each,
                value_words(filled[each.name]) if each.name in filled else "",
                asked=each.name == asked,
            )
            for each in form.slots
        ]
        found = self._reader.read(utterance, slots)
        given = [
            each
            for slot, seen in zip(form.slots, found.slots, strict=True)
            if _sure(slot, seen, filled, asked)
            for each in self._proposals(slot, seen, filled.get(slot.name), utterance, today)
        ]
        return Filling(given, whole=bool(given) and found.talk < TALKS)

    def _proposals(
        self, slot: Slot, seen: ReadSlot, before: Value | None, said: str, today: date
    ) -> Iterator[Proposal]:
        """Yield what the marked words give to a slot."""
        marked = seen.words if slot.type is SlotType.LIST else _joined(said, seen.words)
        words = [said[each.start : each.end] for each in marked]
        stretch = _stretch(said, marked)
        act = _act(seen)
        if act is SlotAct.UNKNOWN:
            yield Proposal(slot.name, UNKNOWN, stretch)
        elif slot.type is SlotType.BOOL:
            if act in _YES_OR_NO:
                yield Proposal(slot.name, _YES_OR_NO[act], stretch)
        elif slot.type is SlotType.CHOICE:
            choice = self._choice(slot, seen, stretch) if act is SlotAct.VALUE else None
            if choice is not None:
                yield Proposal(slot.name, choice, stretch)
        elif slot.type is SlotType.LIST:
            yield from self._items(slot, act, marked, before, said, stretch)
        elif act is SlotAct.VALUE and words:
            value = _value(slot, words, today)
            if value is not None:
                yield Proposal(slot.name, value, stretch)

    def _choice(self, slot: Slot, seen: ReadSlot, stretch: str) -> str | None:
        """Return the choice that the words name, or else the likeliest one. None if none is named
        and the model is sure of none: people also say what is no choice."""
        said = self._lexicon.content_and_numbers(stretch)
        likely = dict(zip(slot.choices, seen.options.values(), strict=True))
        wanted = {each: self._lexicon.content_and_numbers(each) for each in slot.choices}
        named = [each for each in slot.choices if wanted[each] and wanted[each] <= said]
        best = max(named or slot.choices, key=lambda each: likely[each])
        return best if named or likely[best] >= SURE else None

    def _items(
        self,
        slot: Slot,
        act: SlotAct,
        marked: Sequence[SlotWords],
        before: Value | None,
        said: str,
        stretch: str,
    ) -> Iterator[Proposal]:
        there = before if isinstance(before, list) else []
        if act is SlotAct.EMPTY and not there:
            yield Proposal(slot.name, [], stretch)
        if act is not SlotAct.VALUE:
            return
        named = [_trimmed(said[each.start : each.end]) for each in marked if each.removed]
        gone = [item for each in named for item in self._named(each, there)]
        if gone:
            yield Proposal(slot.name, gone, stretch, Way.REMOVE)
        new = [_trimmed(said[each.start : each.end]) for each in marked if not each.removed]
        new = [each[:LONGEST_TEXT] for each in dict.fromkeys(new) if each][:MOST_ITEMS]
        if new:
            yield Proposal(slot.name, new, stretch, Way.ADD if there else Way.PUT)

    def _named(self, words: str, items: Sequence[str]) -> list[str]:
        """Return the items of a list that the words name: those that contain all of the words."""
        wanted = self._lexicon.content_and_numbers(words)
        return [
            each for each in items if wanted and wanted <= self._lexicon.content_and_numbers(each)
        ]


def _act(seen: ReadSlot) -> SlotAct:
    """Return the likeliest act other than giving nothing."""
    acts = [each for each in seen.acts if each is not SlotAct.NOTHING]
    return max(acts, key=lambda each: seen.acts[each])


def _sure(slot: Slot, seen: ReadSlot, filled: Mapping[str, Value], asked: str) -> bool:
    if slot.name == asked:
        least = SURE
    else:
        empty = filled.get(slot.name, UNKNOWN) == UNKNOWN
        least = SURE_UNASKED if empty else SURE_TO_CHANGE
    return 1 - seen.acts[SlotAct.NOTHING] >= least


def _value(slot: Slot, words: Sequence[str], today: date) -> Value | None:
    """Read a value from marked words: of a text all of them, of other types the last that is one,
    since what is said later corrects what was said before."""
    if slot.type is SlotType.TEXT:
        return ", ".join(filter(None, map(_trimmed, words)))[:LONGEST_TEXT] or None
    whole = read(slot, " ".join(words), today)
    if whole is not None:
        return whole
    for each in reversed(words):
        value = read(slot, each, today)
        if value is not None:
            return value
    inside = spans(slot, " ".join(words), today)
    return inside[-1][1] if inside else None


def _joined(said: str, marked: Sequence[SlotWords]) -> list[SlotWords]:
    """Return the marked parts, those joined that only a space separates."""
    joined: list[SlotWords] = []
    for each in marked:
        last = joined[-1] if joined else None
        near = last is not None and last.removed == each.removed
        if last is not None and near and not said[last.end : each.start].strip():
            joined[-1] = SlotWords(last.start, each.end, each.removed)
        else:
            joined.append(each)
    return joined


def _stretch(said: str, words: Sequence[SlotWords]) -> str:
    """Return the utterance from the first to the last marked word; all of it if there is none."""
    if not words:
        return said.strip()
    return said[words[0].start : words[-1].end].strip()


def _trimmed(words: str) -> str:
    return words.strip(' \t.,;:!?…"“”—–-')
