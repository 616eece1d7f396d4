"""Rewording between the user's own words and sentences in the third person."""

import pytest

from assistant.language.third_person import first_person, third_person


@pytest.mark.parametrize(
    ("quote", "told"),
    [
        ("I'm vegan", "The user is vegan."),
        ("I play the cello", "The user plays the cello."),
        ("I don't eat mushrooms", "The user doesn't eat mushrooms."),
        ("we've got two cats", "The user has got two cats."),
        ("my wife and I met in Cork", "The user's wife and the user met in Cork."),
        ("I always carry my pen", "The user always carries the user's pen."),
        ("we no longer live in Hove", "The user no longer lives in Hove."),
        ("never call me sir", "The user wants the assistant never to call the user sir."),
    ],
)
def test_the_users_words_are_put_in_the_third_person(quote: str, told: str) -> None:
    assert third_person(quote) == told


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("The user's boss likes what the user does.", "my boss likes what I do."),
        (
            "The user also tries fish and the user isn't vegan.",
            "I also try fish and I am not vegan.",
        ),
        ("Anna told the user this.", "Anna told I this."),
        ("The user watches birds; Anna knows the user.", "I watch birds; Anna knows I."),
    ],
)
def test_third_person_sentences_are_put_in_the_first_person(told: str, said: str) -> None:
    assert first_person(told) == said
