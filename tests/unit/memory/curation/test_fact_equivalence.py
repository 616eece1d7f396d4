"""Which differently worded facts count as the same."""

import pytest

from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.facts import same_words

LEXICON = TextAnalyzer("en")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The user's dog is called Max.", "The user's dog's name is Max."),
        ("The user's favourite colour is blue.", "The user's favorite color is blue."),
        ("The user's favourite colour is blue.", "Blue is the user's favourite colour."),
        ("Blue is the user's favorite color.", "The user's favourite colour is blue now."),
        ("The user works as a nurse.", "The user is a nurse."),
    ],
)
def test_reworded_facts_are_the_same(older: str, newer: str) -> None:
    assert same_words(older, newer, LEXICON)
    assert same_words(newer, older, LEXICON)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The user's favourite colour is blue.", "Green is the user's favourite colour."),
        ("The user's favourite colour is blue.", "Blue is the user's sister's favourite colour."),
        ("The user's favourite colour is blue.", "Blue is not the user's favourite colour."),
        ("The user's dog is called Max.", "The user's dog is called Bella."),
    ],
)
def test_facts_that_differ_in_value_or_person_are_not_the_same(older: str, newer: str) -> None:
    assert not same_words(older, newer, LEXICON)
    assert not same_words(newer, older, LEXICON)
