"""Reads what a reranker learns from, and makes lessons of it: a question with memories.

`data/training/README.md` describes the files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
"""Share of the questions without capitals and a mark at the end."""
FEWEST, MOST = 5, 12
"""Number of memories of a lesson."""
UNTOLD = 0.12
"""Share of the answerable questions of people whose answers are left out."""
NOISE = 0.08
"""Standard deviation of what is added to the cosines that choose a person's memories."""
MISSED, ANSWERED = 0.6, 0.75
"""Up to which random number an utterance is learnt with a question that it misses, and with one
that it answers. Otherwise it is left out."""
SAME, SAME_QUESTION, APART = 0.75, 0.55, 0.1
"""Another utterance may answer an utterance's question, too, if its cosine with the utterance is
above the first; with the question, above the second, or nearly as high as the utterance's own."""
NEAREST = 40
AT_ONCE = 512

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]
"""Returns unit vectors of texts, shape (texts, dimensions)."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A question with memories, oldest first. A memory answers the question, is an outdated answer,
    or has nothing to do with it."""

    question: str
    memories: tuple[str, ...]
    answers: tuple[bool, ...]
    outdated: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the numbers of the statements that answer it, or did so before."""

    kind: str
    question: str
    facts: frozenset[int]
    outdated: frozenset[int]

    @property
    def about(self) -> frozenset[int]:
        return self.facts | self.outdated


@dataclass(frozen=True, slots=True)
class Person:
    """What somebody said, oldest first, and what they asked later.

    Attributes:
        cosines: of each question with each statement, shape (questions, statements).
    """

    id: str
    said: tuple[str, ...]
    asked: tuple[Asked, ...]
    cosines: Vectors = field(repr=False)

    def lesson(self, asked: Asked, chosen: Sequence[int], question: str) -> Lesson:
        return Lesson(
            question,
            tuple(self.said[each] for each in chosen),
            tuple(each in asked.facts for each in chosen),
            tuple(each in asked.outdated for each in chosen),
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
    """Yield a lesson for each question. Its memories are what answers it, and what is nearest to
    it of the person's other statements."""
    for person in people:
        for asked, cosines in zip(person.asked, person.cosines, strict=True):
            count = chance.randint(FEWEST, MOST)
            untold = bool(asked.about) and chance.random() < UNTOLD
            needed = frozenset[int]() if untold else asked.about
            noise = [chance.gauss(0, NOISE) for _ in cosines]
            order = [each for each in np.argsort(-(cosines + noise)) if each not in asked.about]
            nearest = {int(each) for each in order[: max(0, count - len(needed))]}
            yield person.lesson(asked, sorted(needed | nearest), _varied(asked.question, chance))


class Statements:
    """Utterances with questions that they answer, and with some that they nearly answer."""

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
        """Yield lessons about `count` utterances. Their other memories are utterances about similar
        things, and any others."""
        drawn = chance.sample(range(len(self._told)), min(count, len(self._told)))
        for number, near in zip(drawn, self._similar(drawn), strict=True):
            yield self._lesson(self._told[number], near, chance)

    def _lesson(self, told: Told, near: Sequence[int], chance: Random) -> Lesson:
        count, drawn = chance.randint(FEWEST, MOST), chance.random()
        missed = self._near_misses.get(told.said, ())
        answered = False
        if missed and drawn < MISSED:
            question = chance.choice(missed)
        else:
            question = chance.choice(told.asked)
            answered = bool(missed) or drawn < ANSWERED
        others = [self._told[each].said for each in chance.sample(near, min(len(near), count // 2))]
        others += [chance.choice(self._told).said for _ in range(count - 1 - len(others))]
        if told.beside:
            beside = chance.sample(told.beside, min(len(told.beside), chance.randint(1, 2)))
            others[-len(beside) :] = beside
        memories = [(each, False) for each in others if each != told.said]
        if answered or question in missed:
            memories.append((told.said, answered))
        chance.shuffle(memories)
        texts, answers = zip(*memories, strict=True)
        return Lesson(_varied(question, chance), texts, answers, (False,) * len(texts))

    def _similar(self, numbers: Sequence[int]) -> Iterator[list[int]]:
        """Yield, for each of these utterances, the numbers of those that are nearest to its first
        question, but don't answer it."""
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
