"""Makes lessons for judging a speaker's words: whole turns, turns that stop in the middle, and what
people say while the assistant speaks.

`data/training/README.md` describes the files.
"""

import math
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from data import located
from models.encoder.turn_judge import without_end_marks
from scripts.common import utterances
from scripts.common.rows import read_rows
from scripts.common.spoken_turns import HEARD, Interruption, SpokenTurn
from scripts.train.slot_lessons import read_lessons
from scripts.train.training_data import FILES, read_pairs

MARKS = re.compile(r"[.,!?;:—–…]")
LESS_PUNCTUATION = 0.3
"""How often a turn is learnt without punctuation, as some recognisers write."""
WITHOUT_QUESTION = 0.2
"""How often an answer is learnt without the question."""
SHORTEST_CUT = 3
"""Turns without marked pauses aren't cut after fewer words than this. People seldom pause so soon,
and many short commands and answers are also how longer turns begin."""
PASSES = 2
"""How often a pass learns each turn with marked pauses as written, and as heard. Other turns are
drawn at most once."""
INTERRUPTION_PASSES = 6
"""The same for what is said while the assistant speaks."""
SHORTEST_PREFIX = 0.6
"""An interruption can be recognised from this share of its words."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """Words, what the assistant said, the layer that judges them, and whether it should say yes."""

    words: str
    assistant: str
    layer: str
    wanted: bool


def pauses(turn: SpokenTurn) -> Iterator[Lesson]:
    """The turn up to each of its pauses, and the whole turn."""
    for number in range(1, len(turn.parts)):
        if words := without_end_marks(turn.until(number)):
            yield Lesson(words, turn.question, "complete", wanted=False)
    yield Lesson(without_end_marks(turn.said), turn.question, "complete", wanted=True)


def heard(writers: Container[str], limit: int | None = None) -> list[Lesson]:
    """What a recogniser heard of turns by these writers at each of their pauses."""
    rows = read_rows(located(HEARD), "by", "heard", "question", "complete")[:limit]
    return [
        Lesson(words, row["question"], "complete", row["complete"])
        for row in rows
        if row["by"] in writers and (words := without_end_marks(row["heard"]))
    ]


def interruptions(some: Iterable[Interruption], chance: Random) -> Iterator[Lesson]:
    """What people say while the assistant speaks, and its beginnings, since the assistant hears
    these first."""
    for each in some:
        words = each.said.split()
        least = math.ceil(len(words) * SHORTEST_PREFIX) if each.stops else 1
        for count in {len(words), chance.randint(least, len(words))}:
            said = " ".join(words[:count])
            yield Lesson(said, each.speaking, "interrupts", wanted=each.stops)


def read_whole(limit: int | None = None) -> list[SpokenTurn]:
    """Turns whose pauses nobody has marked: commands and talk, answers to the questions of forms,
    and what people tell and ask."""
    found = [
        SpokenTurn("", (each.said,), "")
        for each in utterances.read_utterances(located(utterances.TRAINING))[:limit]
        if not each.claims
    ]
    for lesson in read_lessons(limit):
        slot = lesson.form.slot(lesson.asked)
        found.append(SpokenTurn("", (lesson.said,), slot.ask if slot else ""))
    for name in FILES:
        found += [
            SpokenTurn("", (text,), "") for each in read_pairs(name, limit) for text in each.texts
        ]
    return [each for each in found if without_end_marks(each.said)]


def drawn(
    marked: Sequence[Lesson],
    whole: Sequence[SpokenTurn],
    spoken: Sequence[Interruption],
    count: int,
    chance: Random,
) -> list[Lesson]:
    """The lessons of one pass: marked pauses and interruptions, each several times, and `count`
    other turns, each once complete and once cut after a random word."""
    lessons = list(marked) * PASSES
    for turn in chance.sample(whole, min(count, len(whole))):
        words = without_end_marks(turn.said).split()
        lessons.append(Lesson(" ".join(words), turn.question, "complete", wanted=True))
        if len(words) > SHORTEST_CUT:
            last = chance.randint(SHORTEST_CUT, len(words) - 1)
            cut = without_end_marks(" ".join(words[:last]))
            lessons.append(Lesson(cut, turn.question, "complete", wanted=False))
    for _ in range(INTERRUPTION_PASSES):
        lessons += interruptions(spoken, chance)
    return [_varied(each, chance) for each in lessons]


def _varied(lesson: Lesson, chance: Random) -> Lesson:
    words, assistant = lesson.words, lesson.assistant
    if chance.random() < LESS_PUNCTUATION:
        words = MARKS.sub("", words)
    if lesson.layer == "complete" and chance.random() < WITHOUT_QUESTION:
        assistant = ""
    return replace(lesson, words=words, assistant=assistant)
