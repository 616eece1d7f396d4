"""The rules that judge the assistant's answers, each with an answer that it takes and one that it
doesn't."""

import pytest

from scripts.eval.answer_data import Expected
from scripts.eval.answer_rules import (
    echoes,
    invented,
    judged,
    repeats_clause,
    speaks_as_user,
    unspeakable,
    why_wrong,
)

OSLO = Expected((r"\boslo\b",), (r"capital is (bergen|don't)",), (0.5, 4))


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ("It's Oslo.", ""),
        ("OSLO, of course!", ""),
        ("It's Bergen.", r"lacks \boslo\b"),
        ("Its capital is Bergen, not Oslo.", "'capital is Bergen' was found"),
        ("The capital is don’t-know, or Oslo.", "was found"),
        (" ", "no answer"),
    ],
)
def test_all_of_one_kind_must_be_found_and_none_of_the_other(answer: str, wrong: str) -> None:
    why = judged(answer, answer, OSLO, said="What's the capital of Norway?").wrong
    assert (wrong in why) if wrong else why == ""


def test_what_must_be_found_may_be_written_or_spoken_but_only_speech_is_rejected() -> None:
    written, spoken = "It's **5 %**.", "It's 5 percent."
    assert why_wrong(written, spoken, Expected(("5 percent",), (r"\*",))) == ""
    assert why_wrong(written, spoken, Expected(("5 %",), ())) == ""
    assert why_wrong(written, spoken, Expected((), ("percent",)))


def test_an_answer_may_be_too_short_or_too_long_and_still_right() -> None:
    short, good, long = (
        judged(text, text, OSLO, said="Which city?")
        for text in ("Oslo.", "It is Oslo.", "It is Oslo, " + "and so on " * 4)
    )
    assert (short.seconds, short.too_short, short.too_long) == (0.4, True, False)
    assert (good.seconds, good.too_short, good.too_long) == (1.2, False, False)
    assert (long.too_short, long.too_long, long.right) == (False, True, True)
    unlimited = judged("Oslo.", "Oslo.", Expected((), ()), said="Which city?")
    assert (unlimited.too_short, unlimited.too_long) == (None, None)


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ("The house is big and old. The house is big and old.", True),
        ("The house is big and old; yes, THE HOUSE is big and old!", True),
        ("You like books books books books", True),
        ("The house is big. The house is old.", False),
        ("Ha, ha, ha! Good night. Good night.", False),
    ],
)
def test_a_clause_of_four_words_that_is_said_twice_is_a_repetition(
    text: str, repeats: bool
) -> None:
    assert repeats_clause(text) == repeats


@pytest.mark.parametrize(
    ("answer", "said", "echo"),
    [
        ("I lost my husband in March.", "I lost my husband in March and it's so quiet.", True),
        ("So why is the sky blue?", "why is the sky blue", True),
        ("I'm sorry that you lost your husband.", "I lost my husband in March.", False),
        ("You play the drums.", "Do I play the drums or the cello?", False),
        ("The drums.", "Is it the drums?", False),
        ("The Nile is longer than the Rhine.", "Is the Nile longer than the Amazon?", False),
    ],
)
def test_the_users_words_again_are_an_echo(answer: str, said: str, echo: bool) -> None:
    assert echoes(answer, said) == echo


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("It's **very** big.", "markdown"),
        ("## Bread\nMix it.", "markdown"),
        ("You need:\n- flour\n- milk", "a list"),
        ("1. Mix it.\n2. Bake it.", "a list"),
        ("Use `print(1)` for that.", "code"),
        ("See https://example.org.", "a link"),
        ("Well done \N{PARTY POPPER}", "emoji"),
        ("(Notes about the user, not instructions)", "marks of the prompt"),
        ("[date] It's late.", "marks of the prompt"),
        ("(It is Monday 3 May.) It's late.", "marks of the prompt"),
        ("In 1969. The moon (ours) is 3 - 4 days away - by rocket.", ""),
    ],
)
def test_what_can_not_be_spoken_is_named(text: str, kind: str) -> None:
    assert unspeakable(text) == kind


@pytest.mark.parametrize(
    ("answer", "own"),
    [
        ("I play the drums.", True),
        ("Sure. My sister plays the cello.", True),
        ("I'm having my knee replaced in January.", True),
        ("You play the drums.", False),
        ("I know that you play the drums.", False),
        ("I don't know who plays the drums.", False),
        ("I'm sorry, I can't say who plays the drums.", False),
        ("My favourite colour is blue.", False),
    ],
)
def test_a_fact_of_the_user_in_the_first_person_is_found(answer: str, own: bool) -> None:
    facts = [
        "My sister plays the cello and I play the drums.",
        "They replace my knee in January, I'm having it done.",
    ]
    assert speaks_as_user(answer, facts) == own


def test_the_first_person_counts_only_where_the_user_has_told_something() -> None:
    expected = Expected((), (r"\bI grew up\b", "^no$"))
    answer = "I grew up in Leeds."
    assert judged(answer, answer, expected, said="Hi!", facts=["We live in Leeds."]).person
    assert not judged(answer, answer, expected, said="Hi!").person
    assert not judged("No", "No", expected, said="Hi!", facts=["We live in Leeds."]).person


def test_names_and_numbers_that_nobody_has_said_are_invented() -> None:
    known = "Karen's my eldest, she has 2 children. It is Monday."
    assert invented("Karen is her name, and it's Monday. I'm sure. She has 2.", known) == []
    assert invented("Her husband is Peter, born on 4 May, and is forty.", known) == [
        "4",
        "forty",
        "Peter",
        "May",
    ]
    none = judged("It's Peter.", "It's Peter.", Expected((), ()), said="Who?")
    some = judged("It's Peter.", "It's Peter.", Expected((), ()), said="Who?", known="Hello.")
    said = judged("It's Peter.", "It's Peter.", Expected((), ()), said="Is it Peter?", known="")
    assert (none.invented, some.invented, said.invented) == ((), ("Peter",), ())
