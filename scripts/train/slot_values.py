"""Varies lessons with the values that occur in other lessons."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from assistant.forms.definition import Form, Slot, SlotType
from models.interfaces import SlotAct
from scripts.train.slot_lessons import Lesson, Marked

PLAIN_TYPES = (SlotType.DATE, SlotType.TIME)
"""If a form has only one slot of such a type, every value of that type is for that slot."""
MOST_BESIDE = 5
"""Maximum number of words of a time that is added to a day, or of a day that is added to a time."""
JOINTS = {SlotType.DATE: (" ", " on ", ", "), SlotType.TIME: (" ", " at ", ", ", " and ")}
"""What may be put in front of the day or the time that is added."""


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
        """Return the utterance with other values. Dates and times come from any form, and other
        values from the same slot. A choice becomes another one if its own words were said."""
        said, moved, marks = lesson.said, 0, []
        for each in sorted(lesson.marks, key=lambda mark: mark.start):
            start, end = each.start + moved, each.end + moved
            key = self._key(lesson.form, each)
            words = chance.choice(self._words.get(key, [""])) if key else ""
            option = each.option
            if option and said[start:end].lower().count(option) == 1:
                slot = lesson.form.slot(each.slot)
                option = chance.choice(slot.choices if slot else [option])
                words = said[start:end].lower().replace(each.option, option)
            if not words or each.removed:
                marks.append(replace(each, start=start, end=end))
                continue
            if said[start:end][:1].isupper() and (start == 0 or said[start - 2 : start] == ". "):
                words = words[:1].upper() + words[1:]
            said = said[:start] + words + said[end:]
            marks.append(replace(each, start=start, end=start + len(words), option=option))
            moved += len(words) - (end - start)
        return replace(lesson, said=said, marks=tuple(marks))

    def day_and_time(self, lesson: Lesson, chance: Random) -> Lesson:
        """Return the utterance with a time after its day, or a day after its time, if the form has
        one slot of each type, and the utterance gives a value to only one of them."""
        slots = [each for each in lesson.form.slots if each.type in PLAIN_TYPES]
        marks = [each for each in lesson.marks if each.slot in {slot.name for slot in slots}]
        if {each.type for each in slots} != {*PLAIN_TYPES} or len(slots) != 2 or len(marks) != 1:
            return lesson
        [mark] = marks
        [other] = (each for each in slots if each.name != mark.slot)
        beside = other.type
        words = chance.choice(self._words.get(("", beside), [""]))
        if mark.act is not SlotAct.VALUE or not 0 < len(words.split()) <= MOST_BESIDE:
            return lesson
        words = words[0].lower() + words[1:] if beside is SlotType.TIME else words
        joint = chance.choice(JOINTS[beside])
        start = mark.end + len(joint)
        by = len(joint) + len(words)
        moved = (
            replace(each, start=each.start + by, end=each.end + by)
            if each.start >= mark.end
            else each
            for each in lesson.marks
        )
        more = Marked(other.name, SlotAct.VALUE, start, start + len(words))
        said = f"{lesson.said[: mark.end]}{joint}{words}{lesson.said[mark.end :]}"
        return replace(lesson, said=said, marks=(*moved, more))

    def foreign(self, form: Form, slots: Sequence[Slot], chance: Random) -> list[Slot]:
        """Return at most one slot of another form; its type is one that this form doesn't have."""
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
