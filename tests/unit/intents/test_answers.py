"""Answers to questions of the assistant, in the words that people use."""

import pytest

from assistant.intents.answers import ALL, chosen, refused, yes_or_no

NAMES = ("hey Ada", "Ada")
TWO = ("your locker code is 4471", "your locker is on the third floor")


@pytest.mark.parametrize(
    ("text", "agreed"),
    [
        ("Yes.", True),
        ("Yeah, sure, go ahead.", True),
        ("Yes please, forget all of them, Ada.", True),
        ("uh-huh", True),
        ("Yep, get rid.", True),
        ("Might as well.", True),
        ("That's what I asked for, isn't it?", True),
        ("Well, I guess so.", True),
        ("No.", False),
        ("Know.", False),
        ("Nope, keep it.", False),
        ("Of course not.", False),
        ("Never mind.", False),
        ("God, no, not that.", False),
        ("I'd rather you kept it.", False),
        ("On second thoughts, don't.", False),
        ("Don't you dare.", False),
        ("Yes, no.", None),
        ("Yes?", None),
        ("I don't know.", None),
        ("Forget it.", None),
        ("Only the first one.", None),
        ("Yes, but not the last one.", None),
        ("Yes, and what's the weather?", None),
        ("Please tell me a joke.", None),
        ("Absolutely, my sister works there.", None),
        ("No, my sister is called Anna.", None),
        ("", None),
    ],
)
def test_an_answer_is_yes_no_or_neither(text: str, agreed: bool | None) -> None:
    assert yes_or_no(text, NAMES, deletes=1) is agreed


@pytest.mark.parametrize(
    ("text", "agreed"),
    [
        ("Yes, please.", True),
        ("No.", False),
        ("Forget it.", False),
        ("Okay, forget it.", None),
        ("Delete it.", None),
        ("Keep it.", None),
        ("Don't forget it.", None),
        ("It's important.", None),
        ("Everything.", None),
        ("Nothing.", None),
    ],
)
def test_words_for_deleting_answer_only_a_question_about_forgetting(
    text: str, agreed: bool | None
) -> None:
    assert yes_or_no(text, NAMES) is agreed


@pytest.mark.parametrize("text", ["Nothing.", "Nothing at all, thanks.", "Forget it.", "No."])
def test_a_question_for_words_is_declined(text: str) -> None:
    assert yes_or_no(text, NAMES, for_words=True) is False


@pytest.mark.parametrize(
    ("text", "agreed"),
    [
        ("No, I need it for court.", False),
        ("not now i'll think about it", False),
        ("No, what's the time?", None),
        ("Yes, my sister works there.", None),
        ("My sister works there.", None),
    ],
)
def test_only_a_no_may_be_explained(text: str, agreed: bool | None) -> None:
    assert yes_or_no(text, NAMES, explained=True) is agreed


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("The first one.", 0),
        ("The second, please.", 1),
        ("the other one", 1),
        ("The code.", 0),
        ("the third floor", 1),
        ("Both of them.", ALL),
        ("All of it, Ada.", ALL),
        ("The third one.", None),
        ("My locker.", None),
        ("The code of my bank card.", None),
        ("What do you mean?", None),
        ("", None),
        ("No.", None),
    ],
)
def test_one_of_several_things_is_chosen_by_its_place_or_its_own_words(
    text: str, place: int | None
) -> None:
    assert chosen(text, TWO, NAMES) == place


FRENCH = ("your French lesson is on Tuesday", "your locker code is 4471")
THREE = ("your locker is blue", "your sister lives in Graz", "your dog is called Max")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("the French one", 0),
        ("French?", 0),
        ("french of course", 0),
        ("No, the French one.", 0),
        ("The French lesson, please, Ada.", 0),
        ("Sorry, I was talking about the French lesson.", 0),
        ("I'd say the former.", 0),
        ("The one about the locker.", 1),
        ("I mean the locker", 1),
        ("what I told you about the locker", 1),
        ("I meant the one with the code, please.", 1),
        ("the locker thing", 1),
        ("4471", 1),
        ("I want the second", 1),
        ("Number two.", 1),
        ("the last one", 1),
        ("The latter.", 1),
        ("the second, I think", 1),
        ("option two", 1),
        ("the last of those", 1),
        ("The second thing you said.", 1),
        ("the lesson, not the locker", 0),
        ("Not the French one, the other one.", 1),
        ("no not the first but the second", 1),
        ("No, not the locker, the French one.", 0),
    ],
)
def test_one_of_two_things_is_chosen_in_any_usual_frame(text: str, place: int) -> None:
    assert chosen(text, FRENCH, NAMES) == place


@pytest.mark.parametrize(
    "text",
    [
        "That one.",
        "The one.",
        "the French code",
        "French or the locker",
        "The French one and the locker.",
        "The French one, no, the locker.",
        "Not the French one.",
        "not both",
        "Not the first one, the first one.",
        "Neither the French one nor the locker.",
        "Don't forget the French one.",
        "Anything but the locker.",
        "All except French.",
        "Keep the French one.",
        "What is my locker code",
        "What's my locker code?",
        "I have French on Tuesday.",
        "The French one is important to me.",
        "why the locker",
        "what about the locker",
        "The locker code of my sister.",
        "the third",
    ],
)
def test_what_could_mean_two_things_or_none_chooses_nothing(text: str) -> None:
    assert chosen(text, FRENCH, NAMES) is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("the last one", 2),
        ("The third.", 2),
        ("the other one", None),
        ("Not the first, the other one.", None),
        ("Not the locker, not my sister, the other one.", 2),
        ("my sister", 1),
    ],
)
def test_one_of_three_things_is_chosen(text: str, place: int | None) -> None:
    assert chosen(text, THREE, NAMES) == place


@pytest.mark.parametrize(
    ("text", "place"), [("the first one", None), ("the second", 1), ("my first car", 1)]
)
def test_a_place_that_is_also_a_word_of_another_thing_chooses_nothing(
    text: str, place: int | None
) -> None:
    assert chosen(text, ("your sister is called Anna", "your first car was red")) == place
    assert chosen("number one", ("your flat is number 2", "your flat is number 1")) is None


def test_only_where_something_is_forgotten_forget_is_part_of_a_choice() -> None:
    assert chosen("Forget the French one.", FRENCH, deletes=1) == 0
    assert chosen("Forget the French one.", FRENCH) is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Not the first one.", 0),
        ("No, not the locker.", 1),
        ("It's not the French one.", 0),
        ("Not the French one, the other one.", None),
        ("Not both.", None),
        ("Not that one.", None),
        ("Not at all.", None),
        ("The French one.", None),
        ("No.", None),
    ],
)
def test_one_of_several_things_is_refused(text: str, place: int | None) -> None:
    assert refused(text, FRENCH, NAMES) == place


def test_the_only_thing_that_is_left_is_chosen_by_its_own_words_alone() -> None:
    assert chosen("The locker.", FRENCH[1:]) == 0
    assert chosen("The first one.", FRENCH[1:]) is None
    assert chosen("The other one.", FRENCH[1:]) is None


@pytest.mark.parametrize("no", ["No", "Nope", "Oh, no", "Nah", "Know"])
def test_a_no_before_it_never_chooses_the_only_thing_or_the_other_one(no: str) -> None:
    for rest in ("the other one.", "the locker.", "the locker code"):
        assert chosen(f"{no}, {rest}", FRENCH[1:], deletes=1) is None
    assert chosen(f"{no}, the other one.", FRENCH, deletes=2) is None
    assert chosen(f"{no} the other one", FRENCH, deletes=2) is None


TO_ONE = ("Drop it.", "Let it go.", "Scrap that.", "Lose it.", "Just bin it.", "Be done with it.")


@pytest.mark.parametrize("text", [*TO_ONE, "Scrap the whole thing.", "Forget what I said."])
def test_what_also_means_never_mind_is_a_yes_only_if_one_thing_would_be_forgotten(
    text: str,
) -> None:
    assert yes_or_no(text, NAMES, deletes=1) is True
    assert yes_or_no(text, NAMES, deletes=2) is None
    assert yes_or_no(f"Yes, {text}", NAMES, deletes=2) is True
    assert yes_or_no(text, NAMES) is None


@pytest.mark.parametrize(
    ("text", "agreed"),
    [
        ("Don't keep it.", True),
        ("Please don't keep any of it.", True),
        ("No need to keep it.", True),
        ("You don't have to keep them.", True),
        ("I'd rather you didn't keep it.", True),
        ("I'd rather not keep that.", True),
        ("I don't want to keep those.", True),
        ("Drop them all.", True),
        ("Lose it all.", True),
        ("Keep it.", False),
        ("Don't lose it.", False),
        ("I'd rather keep it.", False),
        ("No, keep it.", False),
        ("Don't, keep it.", False),
        ("Don't forget, keep it.", None),
    ],
)
def test_a_wish_not_to_keep_something_is_a_yes(text: str, agreed: bool | None) -> None:
    assert yes_or_no(text, NAMES, deletes=1) is agreed
    assert yes_or_no(text, NAMES, deletes=812) is agreed
