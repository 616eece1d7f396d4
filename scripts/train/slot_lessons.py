"""Makes what a reader of forms learns from: dialogues whose words are marked, varied in each pass.

`data/training/README.md` describes the marks.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from assistant.forms.definition import Form, Slot, SlotType
from assistant.forms.described import described
from data import located
from models.encoder.slots import ACTS, FIRST, FIRST_REMOVED, Input, inputs
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
IGNORED = -100
"""Mark of tokens that don't count."""
FEWER, LOWER, FORGOTTEN, BARE, SHUFFLED = 0.7, 0.25, 0.15, 0.15, 0.7
"""Share of the samples that have fewer slots, no capitals and punctuation, slots whose contents are
left out, slots without a name or a question, and slots in another order."""
TOGETHER, ELSEWHERE, OTHER_WORDS, FOREIGN = 0.15, 0.3, 0.4, 0.3
"""Share of the samples that are followed by the next utterance, that answer another question than
the one that was asked, that have other values, and that have a slot of another form."""
PLAIN_TYPES = (SlotType.DATE, SlotType.TIME)
"""Types whose values show by themselves to which slot they belong, if there is only one."""
LITTLE = frozenset({"the", "a", "an", "some", "my", "that", "those", "these"})
"""Words that don't name an item."""
MOST_ELLIPTICAL = 5
"""An utterance of so many words is mostly understood without its question."""
PUNCTUATION = re.compile(r"[,.;:!?—…\"](?!\d)|(?<!\d)-")


@dataclass(frozen=True, slots=True)
class Marked:
    """Words [start, end) of an utterance, and what they do with a slot.

    `option` is the choice that they mean, or empty; `removed` is set for an item to be taken off.
    """

    slot: str
    act: SlotAct
    start: int
    end: int
    option: str = ""
    removed: bool = False


@dataclass(frozen=True, slots=True)
class Lesson:
    """An utterance, and the form when it was said.

    Attributes:
        by: the writer.
        asked: name of the slot that the assistant had asked for, or empty.
        filled: what is in slots, in words.
        talk: whether one would also respond to something else in the utterance.
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


@dataclass(frozen=True, slots=True)
class Sample:
    """A lesson as it is learnt in one pass.

    Attributes:
        made: its tokens.
        acts: the number of the act of each slot or option.
        marks: for each slot or option, the marks of the utterance's tokens.
        options: whether each is an option.
        talk: whether one would also respond to something else.
    """

    made: Input
    acts: list[int]
    marks: list[list[int]]
    options: list[bool]
    talk: bool


# -- reading ------------------------------------------------------------------------------------


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


# -- samples ------------------------------------------------------------------------------------


def sample(
    lesson: Lesson, tokenizer: Any, chance: Random | None, values: "Values | None" = None
) -> Sample:
    """Return a lesson as tokens. `chance` varies it, with other `values`; without it, the lesson
    stays as it is."""
    if chance and values:
        lesson = _varied(lesson, chance, values)
    slots = _chosen(lesson, chance, values) if chance and values else [*lesson.form.slots]
    lines: list[str] = []
    acts: list[int] = []
    options: list[bool] = []
    marked: list[Sequence[Marked]] = []
    for slot in slots:
        filled = lesson.filled.get(slot.name, "")
        if chance and chance.random() < FORGOTTEN:
            filled = ""
        shown = _bare(slot, chance) if chance and chance.random() < BARE else slot
        text = described(shown, filled, asked=slot.name == lesson.asked)
        own = [each for each in lesson.marks if each.slot == slot.name]
        lines.append(text.text)
        acts.append(ACTS.index(own[-1].act if own else SlotAct.NOTHING))
        options.append(False)
        marked.append(own)
        for option, line in zip(slot.choices, text.options, strict=False):
            meant = [each for each in own if each.option == option]
            lines.append(line)
            acts.append(ACTS.index(SlotAct.VALUE if meant else SlotAct.NOTHING))
            options.append(True)
            marked.append(meant)
    read = tokenizer(lesson.said, add_special_tokens=False, return_offsets_mapping=True)
    ids = tokenizer(lines, add_special_tokens=False)["input_ids"]
    made = next(
        iter(inputs(read["input_ids"], ids, tokenizer.cls_token_id, tokenizer.sep_token_id))
    )
    offsets = read["offset_mapping"][: made.text]
    marks = [_token_marks(each, offsets) for each in marked[: len(made.ends)]]
    rows = len(made.ends)
    return Sample(made, acts[:rows], marks, options[:rows], lesson.talk)


def _token_marks(marks: Sequence[Marked], offsets: Sequence[tuple[int, int]]) -> list[int]:
    found = [0] * len(offsets)
    for each in marks:
        first, further = (FIRST_REMOVED, FIRST_REMOVED + 1) if each.removed else (FIRST, FIRST + 1)
        inside = [at for at, (start, _) in enumerate(offsets) if each.start <= start < each.end]
        for at in inside:
            found[at] = first if at == inside[0] else further
    return found


def _chosen(lesson: Lesson, chance: Random, values: "Values") -> list[Slot]:
    """Return the slots in another order, sometimes without some that have no marks, or with one of
    another form."""
    slots = [*lesson.form.slots]
    if chance.random() < FEWER:
        needed = {each.slot for each in lesson.marks} | {lesson.asked}
        share = chance.random()
        slots = [each for each in slots if each.name in needed or chance.random() < share]
        slots = slots or [chance.choice(lesson.form.slots)]
    if chance.random() < FOREIGN:
        slots += values.foreign(lesson.form, slots, chance)
    if chance.random() < SHUFFLED:
        chance.shuffle(slots)
    return slots


def _bare(slot: Slot, chance: Random) -> Slot:
    if chance.random() < 0.5:
        return slot.model_copy(update={"ask": slot.label})
    return slot.model_copy(update={"label": slot.type.value, "cues": ()})


def _varied(lesson: Lesson, chance: Random, values: "Values") -> Lesson:
    if chance.random() < TOGETHER:
        lesson = _together(lesson)
    if chance.random() < ELSEWHERE:
        lesson = _elsewhere(lesson, chance)
    if chance.random() < OTHER_WORDS:
        lesson = values.exchanged(lesson, chance)
    if chance.random() < LOWER:
        lesson = _unpunctuated(lesson, chance)
    return lesson


def _together(lesson: Lesson) -> Lesson:
    """Return the utterance together with the next one, if the latter says enough to be understood
    without its question, and is about other slots."""
    after = lesson.goes_on
    if after is None or len(after.said.split()) < MOST_ELLIPTICAL or not after.marks:
        return lesson
    if {each.slot for each in after.marks} & {each.slot for each in lesson.marks}:
        return lesson
    by = len(lesson.said) + 1
    moved = (replace(each, start=each.start + by, end=each.end + by) for each in after.marks)
    return replace(
        lesson,
        said=f"{lesson.said} {after.said}",
        marks=(*lesson.marks, *moved),
        talk=lesson.talk or after.talk,
    )


def _elsewhere(lesson: Lesson, chance: Random) -> Lesson:
    """Return the utterance as if another slot had been asked for, if it is still understood."""
    types = [each.type for each in lesson.form.slots]
    for each in lesson.marks:
        slot = lesson.form.slot(each.slot)
        if slot is None or each.act is not SlotAct.VALUE:
            return lesson
        plain = slot.type in PLAIN_TYPES and types.count(slot.type) == 1
        if not (plain or slot.type is SlotType.CHOICE):
            return lesson
    others = [each.name for each in lesson.form.slots if each.type not in PLAIN_TYPES]
    if not lesson.marks or not others:
        return lesson
    return replace(lesson, asked=chance.choice([*others, ""]))


def _unpunctuated(lesson: Lesson, chance: Random) -> Lesson:
    kept = [at for at in range(len(lesson.said)) if not PUNCTUATION.match(lesson.said, at)]
    said = "".join(lesson.said[at] for at in kept)
    said = said.lower() if chance.random() < 0.7 else said
    marks = tuple(
        replace(
            each,
            start=sum(at < each.start for at in kept),
            end=sum(at < each.end for at in kept),
        )
        for each in lesson.marks
    )
    return replace(lesson, said=said, marks=marks)


class Values:
    """The values that occur in the lessons, and their slots."""

    def __init__(self, lessons: Sequence[Lesson]) -> None:
        self._words: dict[tuple[str, str], list[str]] = {}
        self._slots = [slot for each in lessons for slot in each.form.slots]
        for lesson in lessons:
            for each in lesson.marks:
                key = self._key(lesson.form, each)
                if key:
                    self._words.setdefault(key, []).append(lesson.said[each.start : each.end])

    def exchanged(self, lesson: Lesson, chance: Random) -> Lesson:
        """Return the utterance with other values: dates and times of any form, others of the same
        slot."""
        said, moved, marks = lesson.said, 0, []
        for each in sorted(lesson.marks, key=lambda mark: mark.start):
            start, end = each.start + moved, each.end + moved
            key = self._key(lesson.form, each)
            words = chance.choice(self._words.get(key, [""])) if key else ""
            if not words or each.removed:
                marks.append(replace(each, start=start, end=end))
                continue
            if said[start:end][:1].isupper() and (start == 0 or said[start - 2 : start] == ". "):
                words = words[:1].upper() + words[1:]
            said = said[:start] + words + said[end:]
            marks.append(replace(each, start=start, end=start + len(words)))
            moved += len(words) - (end - start)
        return replace(lesson, said=said, marks=tuple(marks))

    def foreign(self, form: Form, slots: Sequence[Slot], chance: Random) -> list[Slot]:
        """Return a slot of another form, of a type that these slots don't have."""
        types = {each.type for each in form.slots}
        names = {each.name for each in slots}
        drawn = [chance.choice(self._slots) for _ in range(3)]
        return [each for each in drawn if each.type not in types and each.name not in names][:1]

    @staticmethod
    def _key(form: Form, mark: Marked) -> tuple[str, str] | None:
        slot = form.slot(mark.slot)
        if slot is None or mark.act is not SlotAct.VALUE or mark.option:
            return None
        return ("", slot.type) if slot.type in PLAIN_TYPES else (form.title, slot.name)


def batches(samples: Sequence[Sample], size: int, chance: Random) -> Iterator[list[Sample]]:
    """Yield all samples in batches, those of similar length together."""
    left = sorted(samples, key=lambda each: len(each.made.ids) + 20 * chance.random())
    made = [left[first : first + size] for first in range(0, len(left), size)]
    chance.shuffle(made)
    yield from made


def chatter(forms: Sequence[Form], said: Sequence[str], chance: Random) -> list[Lesson]:
    """Return utterances of ordinary talk as lessons that fill nothing."""
    found = []
    for each in said:
        form = chance.choice(forms)
        asked = chance.choice([*(slot.name for slot in form.slots), ""])
        found.append(Lesson(form, "talk", each, asked, {}, (), True))
    return found
