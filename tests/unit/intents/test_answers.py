"""Answers to questions of the assistant, in the words that people use."""

import pytest

from assistant.intents.answers import ALL, chosen, yes_or_no

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
    assert yes_or_no(text, NAMES, deletes=True) is agreed


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
