"""The lessons of the reranker: each memory has its label, however the lesson is put together."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

from scripts.common.rows import InputUnusable
from scripts.train import reranking_lessons
from scripts.train.reranking_lessons import (
    KINDS,
    OTHERS,
    Asked,
    Lesson,
    Person,
    Statements,
    Vectors,
    person_lessons,
    read_people,
    successions,
)
from scripts.train.training_data import Told

SAID = tuple(f"Said {number}." for number in range(20))
DENTIST = Asked("changed", "When is the dentist?", frozenset({12}), frozenset({3, 7}))
NEVER = Asked("never", "Who is the dentist?", frozenset(), frozenset())


def person(*asked: Asked) -> Person:
    """A person for whose questions the last statements are the nearest."""
    cosines = np.tile(np.linspace(0, 0.9, len(SAID), dtype=np.float32), (len(asked), 1))
    return Person("x1", SAID, asked, cosines)


def nothing(texts: Sequence[str]) -> Vectors:
    return np.zeros((len(texts), 2), np.float32)


# -- people -----------------------------------------------------------------------------------


def test_a_persons_answers_old_and_new_stand_beside_what_is_near() -> None:
    chance, others = Random(1), set[int]()
    for _ in range(50):
        [lesson] = person_lessons([person(DENTIST)], chance)
        numbers = [SAID.index(each) for each in lesson.memories]
        assert dict(zip(numbers, lesson.answers, strict=True)) == {
            number: number in {3, 7, 12} for number in numbers
        }
        assert sum(lesson.answers) == 3
        assert len(numbers) == 3 + OTHERS
        others |= {*numbers} - {3, 7, 12}
    assert OTHERS < len(others) < 14, "rather the nearer ones than any"
    assert min(others) > 7


def test_only_what_comes_after_a_change_makes_outdated_what_was_before() -> None:
    both = Asked("two", "When and where?", frozenset({5, 9}), frozenset())
    found = [
        (SAID.index(each.older), SAID.index(each.newer), each.outdated)
        for each in successions([person(DENTIST, both, NEVER)], Random(1))
    ]
    assert {(3, 12, True), (7, 12, True), (3, 7, True)} == {each for each in found if each[2]}
    others = {each for each in found if not each[2]}
    assert {(5, 9, False), (12, 3, False)} < others
    assert len(found) == 3 + 2 + 2
    for older, newer, _ in others - {(12, 3, False)}:
        assert older < newer


def test_what_was_never_told_is_answered_by_nothing() -> None:
    [lesson] = person_lessons([person(NEVER)], Random(1))
    assert not any(lesson.answers)
    assert len(lesson.memories) == OTHERS + 1


def test_some_questions_are_as_a_recogniser_writes_them() -> None:
    chance = Random(1)
    asked = [each.question for each in person_lessons([person(NEVER)] * 300, chance)]
    assert {*asked} == {"Who is the dentist?", "who is the dentist"}
    assert 20 < asked.count("who is the dentist") < 80


# -- other utterances -------------------------------------------------------------------------

TOLD = [
    Told(f"Told {number}.", (f"Asked {number}?",), ("Beside.",) if number % 2 else ())
    for number in range(40)
]


def lessons(near_misses: dict[str, tuple[str, str]]) -> list[Lesson]:
    return list(Statements(TOLD, near_misses, nothing).lessons(len(TOLD), Random(2)))


def number_in(lesson: Lesson) -> str:
    return "".join(each for each in lesson.question if each.isdigit())


def test_an_utterance_answers_its_question_and_those_beside_it_do_not() -> None:
    found = lessons({})
    assert len(found) == len(TOLD)
    for lesson in found:
        number = number_in(lesson)
        assert lesson.memories[0] == f"Told {number}."
        assert lesson.answers == (True, *[False] * (OTHERS - 1))
        assert ("Beside." in lesson.memories) == bool(int(number) % 2)


def test_an_utterance_does_not_answer_the_questions_that_it_nearly_answers() -> None:
    near = {each.said: (f"Missed {at}?", f"Missed {at}?") for at, each in enumerate(TOLD)}
    found = lessons(near)
    missed = [each for each in found if each.question.lower().startswith("missed")]
    assert 0 < len(missed) < len(found)
    for lesson in found:
        assert lesson.memories[0] == f"Told {number_in(lesson)}."
        assert lesson.answers == (lesson not in missed, *[False] * (OTHERS - 1))


def test_utterances_that_may_answer_as_well_are_not_taken_as_similar() -> None:
    """Of four utterances, the second says the same as the first, the third is about the same, and
    the last is not."""
    angles = {"a": 0.0, "b": 0.1, "c": 1.2, "d": 1.5, "a?": 0.3}

    def encode(texts: Sequence[str]) -> Vectors:
        turned = [angles.get(text, 3.0) for text in texts]
        return np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)

    told = [Told(text, (f"{text}?",), ()) for text in "abcd"]
    statements = Statements(told, {}, encode)
    [near] = statements._similar([0])
    assert near[:1] == [3]
    assert {*near[1:]} == {0, 1, 2}


# -- files ------------------------------------------------------------------------------------


def test_every_person_asks_all_kinds_of_questions_about_statements_that_are_there() -> None:
    people = read_people(nothing)
    assert len({each.id for each in people}) == len(people) > 100
    for each in people:
        assert {asked.kind for asked in each.asked} <= {*KINDS}
        assert len({asked.question for asked in each.asked}) == len(each.asked) > 10
        assert all(text.strip() for text in each.said)
        for asked in each.asked:
            assert bool(asked.facts) == (asked.kind != "never")
            assert not asked.facts & asked.outdated
            assert asked.facts or not asked.outdated


@pytest.mark.parametrize("facts", ["[[0, 5]]", "[[3, 0]]", "[[0]]", "null"])
def test_a_statement_that_is_not_there_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: str
) -> None:
    question = f'{{"kind": "one", "question": "Who?", "facts": {facts}, "old": []}}'
    file = tmp_path / "people.jsonl"
    file.write_text(
        f'{{"id": "x1", "sessions": [{{"said": ["Me."]}}], "questions": [{question}]}}\n',
        encoding="utf-8",
    )
    monkeypatch.setattr(reranking_lessons, "located", lambda _name: file)
    with pytest.raises(InputUnusable, match=r"Line 1 of .* is wrong"):
        read_people(nothing)
