"""The rules by which a correction is put into an old statement."""

import pytest

from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.correction_statements import stands_alone, with_statement
from assistant.memory.curation.correction_values import Corrected, with_value

LEXICON = TextAnalyzer("en")
HANNAH = "My sister is called Hannah."
ANNA = "My sister is called Anna."
MONDAY = "My appointment is on Monday."


@pytest.mark.parametrize(
    "words",
    ["my sister is called Anna", "No, I live in Lisbon", "I'm vegan", "the dentist is on Tuesday"],
)
def test_whole_statements(words: str) -> None:
    assert stands_alone(words)


@pytest.mark.parametrize(
    "words",
    [
        "it's Tuesday",
        "Tuesday",
        "Anna, not Hannah",
        "she's called Anna",
        "I meant it",
        "",
        "no",
    ],
)
def test_parts(words: str) -> None:
    assert not stands_alone(words)


@pytest.mark.parametrize(
    ("old", "words", "new"),
    [
        (MONDAY, "it's on Tuesday", "My appointment is on Tuesday."),
        (HANNAH, "her name is Anna", ANNA),
        (HANNAH, "not Hannah, Anna", ANNA),
        (HANNAH, "I meant Anna", ANNA),
        ("The meeting is at half past two", "at three", "The meeting is at three."),
        ("My flight is at 3 pm.", "it's at four", "My flight is at four pm."),
        ("My birthday is on 12 March.", "it's the 13th", None),
        ("My birthday is on March 1.", "2nd of March", "My birthday is on 2nd of March."),
        ("My code is forty-four seventy-one.", "it's 4472", "My code is 4472."),
        ("I have two cats", "it's three", "I have three cats."),
        ("I live in Porto.", "Lisbon", "I live in Lisbon."),
        ("I fly on Monday and come back on Friday.", "it's Tuesday", None),
        ("I fly on Monday.", "Tuesday or Wednesday", None),
        ("I fly on Monday.", "it's Monday", None),
        ("My sister loves tulips.", "it's roses", None),
        ("I work as a nurse.", "I'm a doctor", None),
        ("Max and Max", "Kim, not Max", None),
        ("My dog is called Max.", "...", None),
    ],
)
def test_a_part_replaces_the_only_value_of_its_kind(old: str, words: str, new: str | None) -> None:
    made = with_value(old, words, LEXICON)
    assert (made.text if made is not None else None) == new


def test_unrelated_statements_are_not_corrected() -> None:
    assert with_statement("It rains.", "my sister is called Anna", LEXICON) is None
    assert with_statement(HANNAH, "my sister is called Anna", LEXICON) == Corrected(
        ANNA, "Hannah", "Anna"
    )
