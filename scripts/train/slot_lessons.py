"""Reads the slot reader's training data: dialogues whose words are marked.

`data/training/README.md` describes the marks.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from assistant.forms.definition import Form, Slot, SlotType
from data import located
from models.interfaces import SlotAct
from scripts.common.rows import InputUnusable, read_rows

TRAINING = "training/form_dialogues.jsonl"
MARK = re.compile(r"\{(\w+)\s*(:|\+|-|=)\s*([^{}|]*)(?:\|([^{}]*))?\}")
NAMED = {
    "unknown": SlotAct.UNKNOWN,
    "clear": SlotAct.UNKNOWN,
    "none": SlotAct.EMPTY,
    "yes": SlotAct.YES,
    "no": SlotAct.NO,
}
LITTLE = frozenset({"the", "a", "an", "some", "my", "that", "those", "these"})
"""Words that don't name an item."""


@dataclass(frozen=True, slots=True)
class Marked:
    """Words [start, end) of an utterance, and what they do with a slot.

    `option` is the choice that they mean, or empty; `removed` is set if they take an item off a
    list.
    """

    slot: str
    act: SlotAct
    start: int
    end: int
    option: str = ""
    removed: bool = False


@dataclass(frozen=True, slots=True)
class Lesson:
    """An utterance, and the state of the form when it was said.

    Attributes:
        by: the writer.
        asked: name of the slot that the assistant had asked for, or empty.
        filled: the contents of the filled slots, in words.
        talk: whether the utterance also says something else that calls for a response.
        goes_on: the user's next utterance, if there is one.
    """

    form: Form
    by: str
    said: str
    asked: str
    filled: Mapping[str, str]
    marks: tuple[Marked, ...]
    talk: bool
    goes_on: "Lesson | None" = None


def read_lessons(limit: int | None = None) -> list[Lesson]:
    """All utterances of the dialogues, or those of the first `limit` dialogues.

    Raises:
        InputUnusable: the file can't be read, or a dialogue is wrongly marked.
    """
    found: list[Lesson] = []
    file = located(TRAINING)
    for number, row in enumerate(read_rows(file, "by", "form", "turns")[:limit], 1):
        try:
            found += _followed([*_lessons(row)])
        except (KeyError, TypeError, ValueError) as error:
            raise InputUnusable(f"Line {number} of {file} is wrong: {error}.") from error
    return found


def unmarked(form: Form, marked: str) -> tuple[str, list[Marked]]:
    """Return the text of a marked utterance, and the marks. Raises ValueError: one is wrong."""
    said, at, marks = "", 0, []
    for found in MARK.finditer(marked):
        said += marked[at : found.start()]
        at = found.end()
        name, sign, first, second = found.groups()
        slot = form.slot(name)
        if slot is None:
            raise ValueError(f"there is no slot {name}")
        words = (second if sign == "=" else first).strip()
        place = (len(said), len(said) + len(words))
        said += words
        marks.append(_marked(slot, sign, first.strip(), place))
    return said + marked[at:], marks


def chatter(forms: Sequence[Form], said: Sequence[str], chance: Random) -> list[Lesson]:
    """Return utterances of ordinary talk as lessons that fill nothing."""
    found = []
    for each in said:
        form = chance.choice(forms)
        asked = chance.choice([*(slot.name for slot in form.slots), ""])
        found.append(Lesson(form, "talk", each, asked, {}, (), True))
    return found


def plain_choices(forms: Sequence[Form], count: int, chance: Random) -> list[Lesson]:
    """Return lessons in which a bare choice answers its question."""
    asked = [(form, slot) for form in forms for slot in form.slots if slot.choices]
    found = []
    for form, slot in chance.choices(asked, k=count if asked else 0):
        option = chance.choice(slot.choices)
        said = option[:1].upper() + option[1:] + chance.choice((".", "", ", please."))
        mark = Marked(slot.name, SlotAct.VALUE, 0, len(option), option)
        found.append(Lesson(form, "choices", said, slot.name, {}, (mark,), False))
    return found


# -- internals ----------------------------------------------------------------------------------


def _lessons(row: Mapping[str, Any]) -> Iterator[Lesson]:
    form = Form.model_validate({"key": "form", **row["form"]})
    filled: dict[str, str] = {}
    for turn in row["turns"]:
        said, marks = unmarked(form, turn["user"])
        yield Lesson(
            form, row["by"], said, turn["asked"], {**filled}, tuple(marks), bool(turn.get("talk"))
        )
        for each in marks:
            slot = form.slot(each.slot)
            listed = slot is not None and slot.type is SlotType.LIST
            _fill(filled, each, said[each.start : each.end], listed=listed)


def _followed(dialogue: list[Lesson]) -> Iterator[Lesson]:
    for number, each in enumerate(dialogue):
        after = dialogue[number + 1] if number + 1 < len(dialogue) else None
        yield replace(each, goes_on=after)


def _marked(slot: Slot, sign: str, value: str, place: tuple[int, int]) -> Marked:
    if sign != "=":
        return Marked(slot.name, SlotAct.VALUE, *place, removed=sign == "-")
    if value in slot.choices:
        return Marked(slot.name, SlotAct.VALUE, *place, option=value)
    if value not in NAMED:
        raise ValueError(f"{slot.name} has no value {value}")
    return Marked(slot.name, NAMED[value], *place)


def _fill(filled: dict[str, str], mark: Marked, words: str, *, listed: bool) -> None:
    """Note what a slot contains after an utterance."""
    before = filled.pop(mark.slot, "")
    match mark.act:
        case SlotAct.VALUE if mark.removed:
            named = {*words.lower().split()} - LITTLE
            items = [each for each in before.split(", ") if each]
            left = [each for each in items if not named <= {*each.lower().split()}]
            filled[mark.slot] = ", ".join(left)
        case SlotAct.VALUE if listed and before not in ("", "none", "not known"):
            filled[mark.slot] = f"{before}, {words}"
        case SlotAct.VALUE:
            filled[mark.slot] = mark.option or words
        case SlotAct.UNKNOWN:
            filled[mark.slot] = "not known"
        case SlotAct.EMPTY:
            filled[mark.slot] = "none"
        case SlotAct.YES | SlotAct.NO:
            filled[mark.slot] = mark.act
