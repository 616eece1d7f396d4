"""Finds the values for the slots of a form in an utterance.

A small model marks the words that answer each slot's question (`models.encoder.slots`), and rules
read the value from these words. So nothing can be made up: every value follows from the user's
words. If the words contain no value of the slot's type, the slot is not filled. English only.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from assistant.forms.amounts import names_unit
from assistant.forms.definition import Form, Slot, SlotType
from assistant.forms.described import described
from assistant.forms.proposal import Proposal, Way
from assistant.forms.spans import values_in
from assistant.forms.values import LONGEST_TEXT, MOST_ITEMS, UNKNOWN, Value, read, value_words
from assistant.language.enumerations import is_amount
from assistant.language.numbers import number_of
from assistant.language.sentences import sentences
from assistant.language.stemming import TextAnalyzer
from models.interfaces import ReadSlot, SlotAct, SlotReader, SlotWords

SURE = 0.7
"""Minimum probability for filling or changing a slot."""
SURE_ALONE = 0.8
"""Minimum probability for treating an utterance as nothing but an answer, so that the language
model need not reply. With a lower threshold, a few per cent of ordinary talk would pass for
answers."""
MOST_WORDS = 50
"""Maximum number of words that are read at a time. The model reads no more than 96 tokens."""
TALKS = 0.5
"""Minimum probability that an utterance also says something that calls for a response."""
MEASURED = (SlotType.DATE, SlotType.TIME, SlotType.NUMBER)
"""Types whose values can be recognised by their form."""
_NO_ITEMS = ("", "a", "an", "i")
_YES_OR_NO = {SlotAct.YES: True, SlotAct.NO: False}


@dataclass(frozen=True, slots=True)
class Filling:
    """The values for a form that were found in an utterance. If `whole`, the utterance says nothing
    else, so the language model need not answer."""

    proposals: Sequence[Proposal]
    whole: bool


NOTHING_FOUND = Filling((), whole=False)


class FormReader:
    """Reads the values for forms from utterances.

    Args:
        reader: loaded by `load`, or else at the first utterance. Loading takes about 50 ms.
    """

    def __init__(self, reader: SlotReader) -> None:
        self._reader = reader
        self._lexicon = TextAnalyzer("en")

    def load(self) -> None:
        """Load the model. Blocks; idempotent. Raises what `fill` raises."""
        self._reader.load()

    def fill(
        self, form: Form, filled: Mapping[str, Value], asked: str, utterance: str, today: date
    ) -> Filling:
        """Find the values for a form in an utterance. Blocks for about 10 ms if the form has ten
        slots.

        Args:
            filled: the slots that have a value.
            asked: name of the slot for which the assistant has just asked, or empty.
            today: the local date of the utterance.

        Raises:
            ModelError: the model is missing or damaged, or has failed.
        """
        if not utterance.strip():
            return NOTHING_FOUND
        if plain := _plain_answer(form, filled, asked, utterance.strip(), today):
            return Filling([plain], whole=True)
        self._reader.load()
        values, whole = {**filled}, True
        given: list[Proposal] = []
        for part in _parts(utterance):
            found = self._read(form, values, asked, part, today)
            for each in found.proposals:
                values[each.slot] = each.applied(values.get(each.slot))
            given += found.proposals
            whole = whole and found.whole
        return Filling(given, whole=whole) if given else NOTHING_FOUND

    def _read(
        self, form: Form, filled: Mapping[str, Value], asked: str, said: str, today: date
    ) -> Filling:
        slots = [
            described(
                each,
                value_words(filled[each.name]) if each.name in filled else "",
                asked=each.name == asked,
            )
            for each in form.slots
        ]
        found = self._reader.read(said, slots)
        given: list[Proposal] = []
        surest = 0.0
        for slot, seen in zip(form.slots, found.slots, strict=True):
            if _certainty(slot, seen) >= SURE:
                new = [*self._proposals(slot, seen, filled.get(slot.name), said, today)]
                new = new or [*_meant_for_another(form, slot, seen, said, today)]
                given += new
                surest = max(surest, _certainty(slot, seen) if new else 0.0)
        return Filling(given, whole=surest >= SURE_ALONE and found.talk < TALKS)

    def _proposals(
        self, slot: Slot, seen: ReadSlot, before: Value | None, said: str, today: date
    ) -> Iterator[Proposal]:
        """Yield what to put into a slot, according to the marked words."""
        unpunctuated = slot.type is SlotType.LIST and not set(said) & set(",;")
        marked = seen.words if unpunctuated else _joined(said, seen.words)
        words = [said[each.start : each.end] for each in marked]
        stretch = _stretch(said, marked)
        act = _act(slot, seen)
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
        """Return the choice that the words name, or else the likeliest one. Return None if none is
        named and the model is not sure of any, because people also say things that are not among
        the choices."""
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
        words = [said[each.start : each.end] for each in marked if not each.removed]
        new = [each[:LONGEST_TEXT] for each in dict.fromkeys(_items_of(words))][:MOST_ITEMS]
        if new:
            yield Proposal(slot.name, new, stretch, Way.ADD if there else Way.PUT)

    def _named(self, words: str, items: Sequence[str]) -> list[str]:
        """Return the items of a list that the words name: those that consist of these words, or
        else those that contain all of them."""
        wanted = self._lexicon.content_and_numbers(words)
        have = {each: self._lexicon.content_and_numbers(each) for each in items}
        same = [each for each in items if have[each] == wanted]
        return same or [each for each in items if wanted and wanted <= have[each]]


def _plain_answer(
    form: Form, filled: Mapping[str, Value], asked: str, said: str, today: date
) -> Proposal | None:
    """Read an utterance that is nothing but a value of the slot just asked for: "no", "on Friday".
    For a text or a list, any words would be a value, so only "no idea" and "nothing" count."""
    slot = form.slot(asked)
    value = read(slot, said, today) if slot else None
    if slot is None or value is None or (value == [] and filled.get(asked)):
        return None
    if slot.type in (SlotType.TEXT, SlotType.LIST) and value not in (UNKNOWN, []):
        return None
    return Proposal(slot.name, value, said)


def _meant_for_another(
    form: Form, slot: Slot, seen: ReadSlot, said: str, today: date
) -> Iterator[Proposal]:
    """If the marked words are a value not of this slot but of exactly one other, yield that value:
    a day instead of a time, say, or a number with its unit. The words must be the value and nothing
    else: "ten" in "in about ten days" is not a time."""
    marked = _joined(said, seen.words)
    if slot.type not in MEASURED or _act(slot, seen) is not SlotAct.VALUE or not marked:
        return
    words = [said[each.start : each.end] for each in marked]
    fits: list[tuple[Slot, Value]] = []
    for each in form.slots:
        counts = each.type is SlotType.NUMBER and names_unit(each, " ".join(words))
        if each.type is not slot.type and (counts or each.type in (SlotType.DATE, SlotType.TIME)):
            value = read(each, " ".join(words), today)
            fits += [(each, value)] if value not in (None, UNKNOWN) else []
    if len(fits) == 1:
        [(other, value)] = fits
        yield Proposal(other.name, value, _stretch(said, marked))


def _act(slot: Slot, seen: ReadSlot) -> SlotAct:
    """Return the likeliest of the acts that are possible for slots of this type."""
    return max(_acts(slot), key=lambda each: seen.acts[each])


def _acts(slot: Slot) -> tuple[SlotAct, ...]:
    match slot.type:
        case SlotType.BOOL:
            return SlotAct.YES, SlotAct.NO, SlotAct.UNKNOWN
        case SlotType.LIST:
            return SlotAct.VALUE, SlotAct.EMPTY, SlotAct.UNKNOWN
        case _:
            return SlotAct.VALUE, SlotAct.UNKNOWN


def _certainty(slot: Slot, seen: ReadSlot) -> float:
    """Return the probability that the utterance does something with the slot."""
    return sum(seen.acts[each] for each in _acts(slot))


def _value(slot: Slot, words: Sequence[str], today: date) -> Value | None:
    """Read a value from marked words. For a text, all of them are used. For other types, the last
    part that is a value is used, because people correct themselves. A date may be spread over
    several parts."""
    if slot.type is SlotType.TEXT:
        return ", ".join(filter(None, map(_trimmed, words)))[:LONGEST_TEXT] or None
    together = " ".join(words)
    parts = [*reversed(words)]
    for each in (together, *parts) if slot.type is SlotType.DATE else (parts[0], together, *parts):
        value = read(slot, each, today)
        if value is not None:
            return value
    return next(reversed(values_in(slot, together, today)), None)


def _parts(said: str) -> Iterator[str]:
    """Split an utterance into parts that the model can read. The splits are between sentences; a
    sentence that is too long by itself is split between words."""
    begin, words = 0, 0
    for each in sentences(said):
        count = len(each.text.split())
        if words and words + count > MOST_WORDS:
            yield from _portions(said[begin : each.start].strip())
            begin, words = each.start, 0
        words += count
    yield from _portions(said[begin:])


def _portions(text: str) -> Iterator[str]:
    words = text.split()
    if len(words) <= MOST_WORDS:
        yield text
        return
    for first in range(0, len(words), MOST_WORDS):
        yield " ".join(words[first : first + MOST_WORDS])


def _joined(said: str, marked: Sequence[SlotWords]) -> list[SlotWords]:
    """Join marked parts that are separated only by a space. (In a list without punctuation, such
    parts are different items.)"""
    joined: list[SlotWords] = []
    for each in marked:
        last = joined[-1] if joined else None
        near = last is not None and last.removed == each.removed
        if last is not None and near and not said[last.end : each.start].strip():
            joined[-1] = SlotWords(last.start, each.end, each.removed)
        else:
            joined.append(each)
    return joined


def _items_of(words: Iterable[str]) -> list[str]:
    """Return the items that are marked. An amount alone belongs to the item before it: "bin bags,
    ten rolls". If no item precedes it, it is an item itself, unless it is only a number."""
    found: list[str] = []
    for each in map(_trimmed, words):
        if found and is_amount(each):
            found[-1] = f"{found[-1]}, {each}"
        elif _names_item(each):
            found.append(each)
    return found


def _names_item(words: str) -> bool:
    """Return whether words can be an item. A letter can, as in "vitamin D, C"."""
    if words.lower() in _NO_ITEMS or (len(words) == 1 and not words.isalnum()):
        return False
    return not is_amount(words) or number_of(words) is None


def _stretch(said: str, words: Sequence[SlotWords]) -> str:
    """Return the utterance from the first to the last marked word; all of it if none is marked."""
    if not words:
        return said.strip()
    return said[words[0].start : words[-1].end].strip()


def _trimmed(words: str) -> str:
    return words.strip(' \t.,;:!?…"“”—–-')
