"""Makes lessons for judging whether a speaker's words are complete: whole turns, and turns that
stop in the middle.

`data/training/README.md` describes the files.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from data import located
from models.encoder.completeness import without_end_marks
from scripts.common import utterances
from scripts.common.spoken_turns import SpokenTurn
from scripts.train.slot_lessons import read_lessons
from scripts.train.training_data import FILES, read_pairs

MARKS = re.compile(r"[.,!?;:—–…]")
LESS_PUNCTUATION = 0.3
"""How often a turn is learnt without punctuation, as some recognisers write."""
WITHOUT_QUESTION = 0.2
"""How often an answer is learnt without the question."""
SHORTEST_CUT = 3
"""Other turns aren't cut after fewer words than this. People seldom pause so soon, and many short
commands and answers are also how longer turns begin."""
PASSES = 3
"""How often each turn whose pauses were marked by its writer is learnt, for each other turn."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """Words, the question that they may answer, and whether the speaker is done."""

    words: str
    question: str
    complete: bool


def pauses(turn: SpokenTurn) -> Iterator[Lesson]:
    """The turn up to each of its pauses, and the whole turn."""
    for number in range(1, len(turn.parts)):
        if words := without_end_marks(turn.until(number)):
            yield Lesson(words, turn.question, complete=False)
    yield Lesson(without_end_marks(turn.said), turn.question, complete=True)


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
    marked: Sequence[SpokenTurn], whole: Sequence[SpokenTurn], count: int, chance: Random
) -> list[Lesson]:
    """The lessons of one pass: all turns with marked pauses, several times, and `count` other
    turns, each of them once complete and once cut after a random word."""
    lessons = [each for _ in range(PASSES) for turn in marked for each in pauses(turn)]
    for turn in chance.sample(whole, min(count, len(whole))):
        words = without_end_marks(turn.said).split()
        lessons.append(Lesson(" ".join(words), turn.question, complete=True))
        if len(words) > SHORTEST_CUT:
            last = chance.randint(SHORTEST_CUT, len(words) - 1)
            cut = without_end_marks(" ".join(words[:last]))
            lessons.append(Lesson(cut, turn.question, complete=False))
    return [_varied(each, chance) for each in lessons]


def _varied(lesson: Lesson, chance: Random) -> Lesson:
    words, question = lesson.words, lesson.question
    if chance.random() < LESS_PUNCTUATION:
        words = MARKS.sub("", words)
    if chance.random() < WITHOUT_QUESTION:
        question = ""
    return Lesson(words, question, lesson.complete)
