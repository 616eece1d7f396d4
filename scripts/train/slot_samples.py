"""Turns lessons into tokens, varied in each pass."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from assistant.forms.definition import Slot, SlotType
from assistant.forms.described import described
from models.encoder.packing import Input
from models.encoder.slots import ACTS, FIRST, FIRST_REMOVED, SLOT_LIMITS
from models.interfaces import SlotAct
from scripts.train.packed_samples import packed
from scripts.train.slot_lessons import Lesson, Marked
from scripts.train.slot_values import PLAIN_TYPES, Values

IGNORED = -100
"""Mark of tokens that don't count in the loss."""
FEWER, LOWER, FORGOTTEN, BARE, SHUFFLED = 0.7, 0.25, 0.15, 0.15, 0.7
"""Shares of the samples that have fewer slots (`FEWER`), no punctuation and mostly no capitals
(`LOWER`), or another order of slots (`SHUFFLED`); and shares of the slots whose contents are left
out (`FORGOTTEN`), or that lack a name or a question (`BARE`)."""
TOGETHER, ELSEWHERE, OTHER_WORDS, FOREIGN, DAY_AND_TIME = 0.15, 0.4, 0.4, 0.3, 0.3
"""Shares of the samples to which each variation is applied, where possible. `TOGETHER` appends the
next utterance. `ELSEWHERE` changes the slot that has been asked for. `OTHER_WORDS` replaces the
values. `FOREIGN` adds a slot of another form. `DAY_AND_TIME` inserts a time after the day, or a day
after the time."""
SELF_CONTAINED = 5
"""An utterance of at least this many words is mostly understood without its question."""
PUNCTUATION = re.compile(r"[,.;:!?—…\"](?!\d)|(?<!\d)-")


@dataclass(frozen=True, slots=True)
class Sample:
    """A lesson as it is learnt in one pass.

    Attributes:
        made: its tokens.
        acts: the number of the act of each slot or option.
        marks: for each slot or option, the marks of the utterance's tokens.
        options: for each slot or option, whether it is an option.
        talk: whether the utterance also says something else that calls for a response.
    """

    made: Input
    acts: list[int]
    marks: list[list[int]]
    options: list[bool]
    talk: bool


def sample(
    lesson: Lesson, tokenizer: Any, chance: Random | None, values: Values | None = None
) -> Sample:
    """Return a lesson as tokens. With `chance` and `values`, it is varied; without them, it stays
    as it is."""
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
    made = packed(tokenizer, read["input_ids"], lines, SLOT_LIMITS)
    offsets = read["offset_mapping"][: made.text]
    marks = [_token_marks(each, offsets) for each in marked[: len(made.ends)]]
    rows = len(made.ends)
    return Sample(made, acts[:rows], marks, options[:rows], lesson.talk)


# -- internals ----------------------------------------------------------------------------------


def _token_marks(marks: Sequence[Marked], offsets: Sequence[tuple[int, int]]) -> list[int]:
    found = [0] * len(offsets)
    for each in marks:
        first, further = (FIRST_REMOVED, FIRST_REMOVED + 1) if each.removed else (FIRST, FIRST + 1)
        inside = [at for at, (start, _) in enumerate(offsets) if each.start <= start < each.end]
        for at in inside:
            found[at] = first if at == inside[0] else further
    return found


def _chosen(lesson: Lesson, chance: Random, values: Values) -> list[Slot]:
    """Return the form's slots with random changes: slots that have no marks and aren't asked for
    may be left out, a slot of another form may be added, and the order may change."""
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


def _varied(lesson: Lesson, chance: Random, values: Values) -> Lesson:
    if chance.random() < TOGETHER:
        lesson = _together(lesson)
    if chance.random() < DAY_AND_TIME:
        lesson = values.day_and_time(lesson, chance)
    if chance.random() < ELSEWHERE:
        lesson = _elsewhere(lesson, chance)
    if chance.random() < OTHER_WORDS:
        lesson = values.exchanged(lesson, chance)
    if chance.random() < LOWER:
        lesson = _unpunctuated(lesson, chance)
    return lesson


def _together(lesson: Lesson) -> Lesson:
    """Return the utterance together with the next one, if the next one is about other slots, and is
    long enough to be understood without its question."""
    after = lesson.goes_on
    if after is None or len(after.said.split()) < SELF_CONTAINED or not after.marks:
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
    """Return the utterance as if another slot had been asked for, if it can still be understood."""
    types = [each.type for each in lesson.form.slots]
    for each in lesson.marks:
        slot = lesson.form.slot(each.slot)
        if slot is None or each.act is not SlotAct.VALUE:
            return lesson
        plain = slot.type in PLAIN_TYPES and types.count(slot.type) == 1
        counted = slot.type is SlotType.NUMBER and _names_unit(
            slot, lesson.said[each.start : each.end]
        )
        if not (plain or counted or slot.type is SlotType.CHOICE):
            return lesson
    others = [each.name for each in lesson.form.slots if each.type not in PLAIN_TYPES]
    if not lesson.marks or not others:
        return lesson
    return replace(lesson, asked=chance.choice([*others, ""]))


def _names_unit(slot: Slot, words: str) -> bool:
    """Return whether the words name what the slot counts ("twenty minutes")."""
    described_as = f"{slot.ask} {slot.label} {slot.unit}".lower()
    return any(len(each) > 3 and each in described_as for each in words.lower().split())


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
