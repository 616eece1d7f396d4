"""Reads the two sets for measuring the assistant's answers: everyday conversations, and people who
tell the assistant about themselves and later ask about what they said."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from data import located
from scripts.common.rows import InputUnusable, read_rows

EVERYDAY, MEMORIES = "everyday", "memories"
FILES = {EVERYDAY: "evaluation/answers.jsonl", MEMORIES: "evaluation/answer_memories.jsonl"}
PARTS = ("dev", "test")
"""Prompts and everything else are chosen on the first part only."""
NEVER, UNKNOWABLE, FOLLOW_UP = "never", "unknowable", "follow_up"

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Expected:
    """The properties of a right answer.

    Attributes:
        accept: patterns that must all match.
        reject: patterns that must not match.
        seconds: the shortest and the longest sensible answer, in seconds; None if unknown.
    """

    accept: tuple[str, ...]
    reject: tuple[str, ...]
    seconds: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Talk:
    """An everyday conversation. The answer to its last turn is judged."""

    id: str
    writer: str
    kind: str
    turns: tuple[str, ...]
    expected: Expected


@dataclass(frozen=True, slots=True)
class Session:
    """What a person said in one conversation, `days_ago` days before the questions are asked."""

    days_ago: int
    said: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question about what was said.

    Attributes:
        facts: the statements that the answer needs, each as the index of its session and of its
            turn in that session.
    """

    kind: str
    question: str
    facts: tuple[tuple[int, int], ...]
    expected: Expected


@dataclass(frozen=True, slots=True)
class Person:
    """What one person said over several weeks, and the questions that they ask afterwards."""

    id: str
    writer: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]

    def facts(self, question: Question) -> list[str]:
        """The statements that are needed to answer the question."""
        return [self.sessions[session].said[turn] for session, turn in question.facts]


def read_talks(part: str, limit: int | None = None, file: Path | None = None) -> list[Talk]:
    """The conversations of a part.

    Args:
        limit: maximum number of conversations, with all kinds represented as evenly as possible.

    Raises:
        InputUnusable: the file can't be read, or a row of this part can't be used.
    """
    talks = _read(file or located(FILES[EVERYDAY]), part, _talk)
    return [talks[at] for at in _spread([talk.kind for talk in talks], limit)]


def read_people(part: str, limit: int | None = None, file: Path | None = None) -> list[Person]:
    """The people of a part, with at most `limit` questions in all. Raises InputUnusable as
    `read_talks` does."""
    people = _read(file or located(FILES[MEMORIES]), part, _person)
    every = [(person.id, at) for person in people for at in range(len(person.questions))]
    kinds = [each.kind for person in people for each in person.questions]
    chosen = {every[at] for at in _spread(kinds, limit)}
    asking = [
        replace(
            person,
            questions=tuple(
                q for at, q in enumerate(person.questions) if (person.id, at) in chosen
            ),
        )
        for person in people
    ]
    return [person for person in asking if person.questions]


def _spread(kinds: Sequence[str], limit: int | None) -> list[int]:
    """At most `limit` indices of `kinds`, with all kinds represented as evenly as possible."""
    places: dict[str, int] = {}
    order = []
    for at, kind in enumerate(kinds):
        places[kind] = places.get(kind, 0) + 1
        order.append((places[kind], at))
    return sorted(at for _, at in sorted(order)[:limit])


def _read(file: Path, part: str, make: Callable[[Mapping[str, Any]], Row]) -> list[Row]:
    found = []
    for row in read_rows(file, "id", "part", "writer"):
        if row["part"] not in PARTS:
            raise InputUnusable(f"{row['id']} in {file} is of an unknown part: {row['part']}.")
        if row["part"] != part:
            continue
        try:
            found.append(make(row))
        except (KeyError, TypeError, ValueError, re.error) as error:
            told = f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else error
            raise InputUnusable(f"{row['id']} in {file} can't be used: {told}.") from error
    return found


def _talk(row: Mapping[str, Any]) -> Talk:
    turns = _texts(row["turns"], "turns")
    if not turns:
        raise ValueError("nothing is said in it")
    return Talk(row["id"], row["writer"], row["kind"], turns, _expected(row))


def _person(row: Mapping[str, Any]) -> Person:
    sessions = tuple(
        Session(int(each["days_ago"]), _texts(each["said"], "said")) for each in row["sessions"]
    )
    days = [each.days_ago for each in sessions]
    if days != sorted(days, reverse=True) or min(days, default=1) < 1:
        raise ValueError("its sessions are not in order, or not in the past")
    questions = []
    for each in row["questions"]:
        facts = tuple((int(session), int(turn)) for session, turn in each["facts"])
        for session, turn in facts:
            if not (0 <= session < len(sessions) and 0 <= turn < len(sessions[session].said)):
                raise ValueError(f"there is no statement {[session, turn]}")
        questions.append(Question(each["kind"], each["question"], facts, _expected(each)))
    return Person(row["id"], row["writer"], sessions, tuple(questions))


def _expected(row: Mapping[str, Any]) -> Expected:
    accept, reject = (_texts(row[name], name) for name in ("accept", "reject"))
    for pattern in (*accept, *reject):
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"the pattern {pattern!r} is wrong ({error})") from error
    if "seconds" not in row:
        return Expected(accept, reject)
    least, most = map(float, row["seconds"])
    if not 0 <= least < most:
        raise ValueError(f"its `seconds` are {[least, most]}")
    return Expected(accept, reject, (least, most))


def _texts(found: object, name: str) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise TypeError(f"`{name}` is not a list of texts")
    return tuple(found)
