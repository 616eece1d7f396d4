"""The assistant's own words are not interruptions."""

import pytest

from assistant.voice.turns.barge_in import is_echo

SPEAKING = "The capital of France is Paris. It has two million people and 12 bridges."


@pytest.mark.parametrize(
    "text",
    [
        "the capital of France",
        "It has two million people.",
        "France is Paris it has",
        "2 million",
        "the capitol of France is Paris",
        "has two millions people and twelve bridges",
    ],
)
def test_the_assistants_own_words_are_an_echo(text: str) -> None:
    assert is_echo(text, SPEAKING)
    assert not is_echo(text, "")


@pytest.mark.parametrize(
    ("text", "echo"),
    [
        ("Just go.", True),
        ("Paris", True),
        ("of nothing is the capital, but if it not", True),
        ("Stop it. Please stop it now.", False),
        ("What about the weather tomorrow?", False),
    ],
)
def test_sound_like_the_assistants_voice_is_the_user_only_with_many_different_words(
    text: str, echo: bool
) -> None:
    assert is_echo(text, SPEAKING, own_voice=0.25) is echo
    assert is_echo(text, SPEAKING, own_voice=0.5)
    assert not is_echo(text, "", own_voice=0.5)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Paris",
        "Stop it please",
        "What about France and Germany?",
        "the bridges of Paris",
        "How many people live there?",
        "No, the capital is Lyon, I think",
        "two people",
    ],
)
def test_different_words_are_not_an_echo(text: str) -> None:
    assert not is_echo(text, SPEAKING)


@pytest.mark.parametrize("text", ["Stop.", "Stopped", "Paris!", "1"])
def test_a_single_word_is_an_echo_only_if_it_was_just_spoken(text: str) -> None:
    answer = "The bus stops in Paris, and then the sign says stop. One more thing."
    assert is_echo(text, answer, just_spoken=answer)
    assert not is_echo(text, answer, just_spoken="and then the sign says")
    assert not is_echo(text, answer)


@pytest.mark.parametrize(
    ("text", "spoken", "echo"),
    [
        ("of commerce.", "Of course. Stop. After that", True),
        ("four get that", "you can always say forget that", True),
        ("Stop talking, please.", "Of course. Stop. After that", False),
        ("stop by the shop please", "Stop.", False),
        ("No, it is Tuesday", "the captain says two words", False),
        ("be quiet", "the captain says two words", False),
    ],
)
def test_misheard_words_are_an_echo_if_they_sound_like_what_was_just_spoken(
    text: str, spoken: str, echo: bool
) -> None:
    assert is_echo(text, f"Well. {spoken}", just_spoken=spoken) is echo
    assert not is_echo(text, f"Well. {spoken}")
