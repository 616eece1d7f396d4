"""Reads the reranker's training data, and makes lessons from it: questions with memories.

`data/training/README.md` describes the files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data import located
from scripts.common.rows import InputUnusable, read_rows
from scripts.train.training_data import FILES, Told, read_pairs

PEOPLE = "training/people.jsonl"
NEAR_MISSES = "training/near_misses.jsonl"
KINDS = ("changed", "two", "time", "one", "person", "never")
LOWER = 0.15
"""Share of the questions that lose their capitals and the mark at the end."""
MOST_ANSWERS, OTHERS = 4, 4
"""Maximum number of memories in a lesson that answer the question, and of others. If nothing
answers the question, there is one more of the others."""
NOISE = 0.06
"""Standard deviation of the noise on the cosines by which a person's other memories are chosen."""
MISSED = 0.6
"""How often an utterance is learnt with a question that it only nearly answers, if it has one."""
SIMILAR = 4
"""Number of later statements, nearest to the question, from which a counterexample is chosen."""
BESIDE = 1
"""Maximum number of utterances from `Told.beside` in a lesson."""
SAME, SAME_QUESTION, APART = 0.75, 0.55, 0.1
"""Another utterance may answer an utterance's question, too. This is assumed if its cosine with the
utterance is above `SAME`, or if its cosine with the question is above `SAME_QUESTION`, or less than
`APART` below the cosine of the utterance with its question."""
NEAREST = 40
AT_ONCE = 512

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]
"""Returns unit vectors of texts, shape (texts, dimensions)."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A question with memories, and whether each answers it, even if only in part or no longer."""

    question: str
    memories: tuple[str, ...]
    answers: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Succession:
    """A question with two memories, the older one first, and whether the newer one makes the older
    one outdated."""

    question: str
    older: str
    newer: str
    outdated: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the numbers of the statements that answer it now (`facts`) or used to
    (`outdated`)."""

    kind: str
    question: str
    facts: frozenset[int]
    outdated: frozenset[int]

    @property
    def about(self) -> frozenset[int]:
        return self.facts | self.outdated


@dataclass(frozen=True, slots=True)
class Person:
    """A person's statements, oldest first, and their later questions.

    Attributes:
        cosines: each question's cosine with each statement, shape (questions, statements).
    """

    id: str
    said: tuple[str, ...]
    asked: tuple[Asked, ...]
    cosines: Vectors = field(repr=False)

    def lesson(self, asked: Asked, chosen: Sequence[int], question: str) -> Lesson:
        return Lesson(
            question,
            tuple(self.said[each] for each in chosen),
            tuple(each in asked.about for each in chosen),
        )


def read_people(encode: Encode, limit: int | None = None) -> list[Person]:
    """All people, or the first `limit` of them.

    Raises:
        InputUnusable: the file can't be read, or a question names a statement that isn't there.
    """
    file = located(PEOPLE)
    people = []
    for number, row in enumerate(read_rows(file, "id", "sessions", "questions")[:limit], 1):
        try:
            said, asked = _said_and_asked(row)
        except (KeyError, TypeError, ValueError) as error:
            raise InputUnusable(f"Line {number} of {file} is wrong: {error}.") from error
        cosines = encode([each.question for each in asked]) @ encode(said).T
        people.append(Person(row["id"], said, asked, cosines))
    return people


def person_lessons(people: Sequence[Person], chance: Random) -> Iterator[Lesson]:
    """Yield a lesson for each question. Its memories are the statements that answer it, and those
    of the person's other statements that are nearest to it."""
    for person in people:
        for asked, cosines in zip(person.asked, person.cosines, strict=True):
            noise = [chance.gauss(0, NOISE) for _ in cosines]
            order = np.argsort(-(cosines + noise)).tolist()
            answers = sorted(asked.about)[:MOST_ANSWERS]
            others = [each for each in order if each not in asked.about]
            chosen = [*answers, *others[: OTHERS if answers else OTHERS + 1]]
            yield person.lesson(asked, chosen, _varied(asked.question, chance))


def successions(people: Sequence[Person], chance: Random) -> Iterator[Succession]:
    """Yield, for each question, pairs of the person's statements."""
    for person in people:
        for asked, cosines in zip(person.asked, person.cosines, strict=True):
            for older, newer, outdated in _pairs(asked, cosines, chance):
                question = _varied(asked.question, chance)
                yield Succession(question, person.said[older], person.said[newer], outdated)


def _pairs(asked: Asked, cosines: Vectors, chance: Random) -> Iterator[tuple[int, int, bool]]:
    """Yield pairs of statements, and whether the second makes the first outdated. It does if
    something changed between the two. The counterexamples are two statements that are both needed,
    a statement and a later one about something similar, and a change in reverse order."""
    facts, before = sorted(asked.facts), sorted(asked.outdated)
    for old in before:
        yield from ((old, new, True) for new in facts[-1:] if new > old)
    yield from ((old, new, True) for old, new in pairwise(before))
    yield from ((older, newer, False) for older, newer in pairwise(facts))
    yield from ((new, old, False) for new in facts[-1:] for old in before[:1])
    nearest = [each for each in np.argsort(-cosines).tolist() if each not in asked.about]
    for fact in facts[:1]:
        later = [each for each in nearest if each > fact][:SIMILAR]
        if later:
            yield fact, chance.choice(later), False


class Statements:
    """Utterances with questions that they answer, and with questions that they nearly answer."""

    def __init__(
        self, told: Sequence[Told], near_misses: Mapping[str, Sequence[str]], encode: Encode
    ) -> None:
        self._told = [each for each in told if each.asked]
        self._near_misses = near_misses
        self._encode = encode
        self._vectors = encode([each.said for each in self._told])

    def __len__(self) -> int:
        return len(self._told)

    def lessons(self, count: int, chance: Random) -> Iterator[Lesson]:
        """Yield lessons about `count` utterances. The other memories of a lesson are utterances
        about similar things."""
        drawn = chance.sample(range(len(self._told)), min(count, len(self._told)))
        for number, near in zip(drawn, self._similar(drawn), strict=True):
            yield self._lesson(self._told[number], near, chance)

    def _lesson(self, told: Told, near: Sequence[int], chance: Random) -> Lesson:
        missed = self._near_misses.get(told.said, ())
        answered = not missed or chance.random() >= MISSED
        question = chance.choice(told.asked if answered else missed)
        beside = chance.sample(told.beside, min(len(told.beside), BESIDE))
        count = min(len(near), OTHERS - 1 - len(beside))
        others = [self._told[each].said for each in chance.sample(near, count)]
        memories = (told.said, *others, *beside)
        answers = (answered, *(False for _ in memories[1:]))
        return Lesson(_varied(question, chance), memories, answers)

    def _similar(self, numbers: Sequence[int]) -> Iterator[list[int]]:
        """For each of these utterances, yield the numbers of the utterances nearest to its first
        question that don't answer it."""
        for start in range(0, len(numbers), AT_ONCE):
            some = [*numbers[start : start + AT_ONCE]]
            asked = self._encode([self._told[each].asked[0] for each in some]) @ self._vectors.T
            alike = self._vectors[some] @ self._vectors.T
            own = asked[range(len(some)), some]
            most = np.minimum(own[:, None] - APART, SAME_QUESTION)
            asked[(asked > most) | (alike > SAME)] = -1
            yield from np.argsort(-asked, axis=1)[:, :NEAREST].tolist()


def read_statements(encode: Encode, limit: int | None = None) -> Statements:
    """All utterances with questions, or `limit` of each file.

    Raises:
        InputUnusable: a file can't be read.
    """
    told = [each for name in FILES for each in read_pairs(name, limit)]
    rows = read_rows(located(NEAR_MISSES), "said", "a", "b")
    return Statements(told, {row["said"]: (row["a"], row["b"]) for row in rows}, encode)


# -- internals ----------------------------------------------------------------------------------


def _said_and_asked(row: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[Asked, ...]]:
    places = [
        (session, number)
        for session, each in enumerate(row["sessions"])
        for number in range(len(each["said"]))
    ]
    said = tuple(row["sessions"][session]["said"][number] for session, number in places)

    def numbers(given: Sequence[Sequence[int]]) -> frozenset[int]:
        return frozenset(places.index((session, number)) for session, number in given)

    asked = tuple(
        Asked(each["kind"], each["question"], numbers(each["facts"]), numbers(each["old"]))
        for each in row["questions"]
    )
    return said, asked


def _varied(question: str, chance: Random) -> str:
    return question.lower().rstrip("?.") if chance.random() < LOWER else question
