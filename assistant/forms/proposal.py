"""What an utterance gives to the slots of a form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cached_property

from assistant.forms.clauses import Told, told
from assistant.forms.definition import Form, Slot, SlotType
from assistant.forms.values import UNKNOWN, Value, label_is, same_value
from assistant.language.stemming import TextAnalyzer
from assistant.language.word_lists import words_of


class Way(StrEnum):
    """What is done with a value. Items may also be added to a list, or removed from it."""

    PUT = "put"
    ADD = "add"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A value that the user's words give a slot.

    `words` stand in the utterance as they are. `whole` is set if the utterance says nothing else,
    so that no answer of the model is needed. If `way` isn't PUT, `value` is a list of items.
    """

    slot: str
    value: Value
    words: str
    whole: bool = False
    way: Way = Way.PUT

    def applied(self, before: Value | None) -> Value:
        """Return the slot's new value.

        Args:
            before: its value so far; None if it is empty.
        """
        if self.way is Way.PUT or not isinstance(self.value, list):
            return self.value
        items = before if isinstance(before, list) else []
        folded = [each.casefold() for each in self.value]
        if self.way is Way.REMOVE:
            return [each for each in items if each.casefold() not in folded]
        known = {each.casefold() for each in items}
        return [*items, *(each for each in self.value if each.casefold() not in known)]


@dataclass(frozen=True, slots=True)
class Found:
    """A value that the rules have found in the words [start, end) of the utterance."""

    slot: Slot
    value: Value
    start: int
    end: int
    way: Way = Way.PUT


@dataclass(frozen=True)
class Turn:
    """An utterance, and the form to which it may contribute.

    `filled` has the slots in the order in which they were filled or changed. `asked` is the slot
    for which the assistant has just asked.
    """

    form: Form
    filled: Mapping[str, Value]
    asked: Slot | None
    text: str
    today: date

    @cached_property
    def told(self) -> Sequence[Told]:
        return told(self.text)

    @cached_property
    def corrects(self) -> bool:
        """Whether a word shows that something that was said before is changed."""
        said = self.text.lower().replace("'", " ").split()
        words = {each.strip(".,;:!?…") for each in said}
        return not words.isdisjoint(words_of("forms", "correcting"))

    @property
    def recent(self) -> Slot | None:
        """The slot that was filled or changed last."""
        last = next(reversed([*self.filled]), "")
        return self.form.slot(last)

    def may_put(self, slot: Slot, value: Value) -> bool:
        """Whether a value may be put in a slot: a value that is there is only replaced by the
        answer to a question about it, or by what is worded as a correction."""
        before = self.filled.get(slot.name)
        if before is None or same_value(before, value):
            return before is None
        if value in (UNKNOWN, []):
            return before == UNKNOWN or bool(before == [])
        named = label_is(slot).search(self.text) is not None
        return before == UNKNOWN or slot == self.asked or self.corrects or named

    def way_for(self, slot: Slot) -> Way:
        """Return what a further answer does: it adds to a list that has items."""
        listed = slot.type is SlotType.LIST and bool(self.filled.get(slot.name))
        return Way.ADD if listed and self.filled[slot.name] != UNKNOWN else Way.PUT


def items_named(words: str, items: Sequence[str], lexicon: TextAnalyzer) -> list[str]:
    """Return the items of a list that the words name: those that contain all of the words."""
    wanted = lexicon.content_and_numbers(words)
    return [each for each in items if wanted and wanted <= lexicon.content_and_numbers(each)]
