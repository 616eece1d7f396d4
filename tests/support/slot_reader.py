"""A reader of slots that finds what a test marks in its utterances."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assistant.errors import ModelError
from assistant.forms.definition import Form, FormLibrary, Slot, SlotType
from models.interfaces import DescribedSlot, ReadSlot, ReadUtterance, SlotAct, SlotWords
from scripts.train.slot_lessons import Marked, unmarked

CERTAIN = 0.99


@cache
def shipped_form(key: str) -> Form:
    found = FormLibrary(Path("/nonexistent")).get(key)
    assert found is not None
    return found


@cache
def every_slot() -> Form:
    """A form with the slots of all shipped forms."""
    forms = FormLibrary(Path("/nonexistent")).forms()
    slots = {slot.name: slot for form in forms for slot in form.slots}
    return Form(key="all", title="All", slots=tuple(slots.values()))


@dataclass(frozen=True, slots=True)
class Said:
    """What an utterance gives, with which probability, and the probability that it says more."""

    marks: Sequence[Marked]
    sure: float
    talk: float


class MarkedReader:
    """A `SlotReader` that knows utterances whose words were marked with `mark`. Others give
    nothing.

    `loads` counts how often it was loaded; `read_slots` are the slots that it read last. If `fault`
    is set, `load` raises it.
    """

    def __init__(self, form: Form | None = None) -> None:
        self._form = form or every_slot()
        self._said: dict[str, Said] = {}
        self.loads = 0
        self.read_slots: list[DescribedSlot] = []
        self.fault: ModelError | None = None

    def mark(self, marked: str, *, sure: float = CERTAIN, talk: float = 0.0) -> str:
        """Return an utterance without its marks, which `data/training/README.md` describes."""
        text, marks = unmarked(self._form, marked)
        self._said[text] = Said(marks, sure, talk if marks else 1.0)
        return text

    def load(self) -> None:
        if self.fault is not None:
            raise self.fault
        self.loads += 1

    def read(self, text: str, slots: Sequence[DescribedSlot]) -> ReadUtterance:
        self.read_slots = list(slots)
        said = self._said.get(text, Said((), 0.0, 1.0))
        return ReadUtterance(tuple(self._read(said, each) for each in slots), said.talk)

    def _read(self, said: Said, described: DescribedSlot) -> ReadSlot:
        slot = next(each for each in self._form.slots if f": {each.ask} " in described.text)
        marks = [each for each in said.marks if each.slot == slot.name]
        acts = dict.fromkeys(SlotAct, 0.0)
        acts[SlotAct.NOTHING] = 1 - said.sure if marks else 1.0
        if marks:
            acts[marks[-1].act] = said.sure
        words = tuple(SlotWords(each.start, each.end, each.removed) for each in marks)
        return ReadSlot(acts, words, _options(slot, described, marks, said.sure))


def _options(
    slot: Slot, described: DescribedSlot, marks: Sequence[Marked], sure: float
) -> dict[str, float]:
    if slot.type is not SlotType.CHOICE:
        return {}
    meant = {each.option for each in marks}
    return {
        option: sure if choice in meant else 0.0
        for choice, option in zip(slot.choices, described.options, strict=True)
    }
