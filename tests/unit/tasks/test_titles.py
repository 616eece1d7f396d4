"""Tasks are called by their names in correct sentences, and found by them."""

from datetime import UTC, datetime

import pytest

from assistant.language.stemming import TextAnalyzer
from assistant.tasks.task import Task
from assistant.tasks.titles import called, plain_name, title

NOW = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "do", "doing", "what"),
    [
        (
            "plan the trip to Lisbon",
            "plan the trip to Lisbon",
            "planning the trip to Lisbon",
            "the trip to Lisbon",
        ),
        (
            "planning the school fete",
            "plan the school fete",
            "planning the school fete",
            "the school fete",
        ),
        ("plan my move", "plan your move", "planning your move", "your move"),
        ("plane our party", "plan your party", "planning your party", "your party"),
        ("planning of the meals", "plan the meals", "planning the meals", "the meals"),
        ("figure out a menu", "figure out a menu", "figuring out a menu", "a menu"),
        ("a wedding cake", "plan a wedding cake", "planning a wedding cake", "a wedding cake"),
        (
            "open a shop",
            "work on this: open a shop",
            "working on this: open a shop",
            '"open a shop"',
        ),
    ],
)
def test_a_name_becomes_a_part_of_a_sentence(name: str, do: str, doing: str, what: str) -> None:
    found = title(plain_name(name))
    assert (found.do, found.doing, found.what) == (do, doing, what)


def test_in_another_language_a_name_stays_as_it_is() -> None:
    assert title("die Reise nach Rom", english=False).what == "die Reise nach Rom"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("let's plan the trip with you, please.", "plan the trip"),
        ("Plan the party together step by step", "Plan the party"),
        (" . ", ""),
    ],
)
def test_a_name_is_stored_without_what_surrounds_it(words: str, name: str) -> None:
    assert plain_name(words) == name


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("the Lisbon trip", "plan the trip to Lisbon"),
        ("plan the trip", "plan the trip to Lisbon"),
        ("planning Leo's party", "plan Leo's birthday party"),
        ("the trip to Rome", None),
        ("plan it", None),
    ],
)
def test_a_task_is_found_by_words_of_its_name(name: str, found: str | None) -> None:
    names = ("plan the trip to Madrid", "plan the trip to Lisbon", "plan Leo's birthday party")
    tasks = [Task(each, each, NOW, NOW, None, None, "", ()) for each in names]
    task = called(name, tasks, TextAnalyzer("en"))
    assert (task.name if task is not None else None) == found
