"""A newer line takes the place of an older one about the same; others are kept beside it."""

import pytest

from assistant.language.stemming import TextAnalyzer
from assistant.tasks.merging import Merging
from assistant.tasks.settling import candidates

LINES = [
    "fly on the third of May",
    "take the morning train",
    "the budget is eight hundred euros",
    "stay at the hostel",
    "twelve people",
    "the theme is pirates",
]


def after(said: str, lines: list[str]) -> list[str]:
    """Return the lines after an utterance."""
    merging, lines = Merging(TextAnalyzer("en")), list(lines)
    for each in candidates(said):
        place = merging.place(each, lines)
        if place is not None and place.line is None:
            lines.append(place.text)
        elif place is not None and place.line is not None:
            lines[place.line] = place.text
    return lines


@pytest.mark.parametrize(
    ("said", "old", "new"),
    [
        ("Actually, make it the fourth.", 0, "fly on the fourth of May"),
        ("We'll fly on the fifth of May.", 0, "fly on the fifth of May"),
        ("Let's change the day to Friday.", 0, "fly on Friday"),
        ("Let's take the afternoon train instead.", 1, "take the afternoon train"),
        ("No, wait, the afternoon train.", 1, "the afternoon train"),
        ("The budget is a thousand.", 2, "the budget is a thousand"),
        ("Sorry, a thousand euros.", 2, "the budget is a thousand euros"),
        ("Not the hostel.", 3, "not the hostel"),
        ("Forget the hostel.", 3, "not the hostel"),
        ("Actually, let's stay at the Ritz.", 3, "stay at the Ritz"),
        ("Sorry, it's fourteen people.", 4, "it's fourteen people"),
        ("The theme is dinosaurs.", 5, "the theme is dinosaurs"),
        ("Let's stay at the hostel in Alfama.", 3, "stay at the hostel in Alfama"),
    ],
)
def test_a_line_about_the_same_is_replaced(said: str, old: int, new: str) -> None:
    assert after(said, LINES) == [*LINES[:old], new, *LINES[old + 1 :]]


@pytest.mark.parametrize(
    ("said", "new"),
    [
        ("Let's come back on the tenth.", "come back on the tenth"),
        ("Let's also take a picnic.", "also take a picnic"),
        ("No guided tours.", "no guided tours"),
        ("We'll rent a car in Sintra.", "rent a car in Sintra"),
        ("Actually, let's also invite Tom.", "also invite Tom"),
    ],
)
def test_anything_else_is_added(said: str, new: str) -> None:
    assert after(said, LINES) == [*LINES, new]


@pytest.mark.parametrize("said", ["Let's take the morning train.", "We'll stay at the hostel."])
def test_what_is_there_is_not_added_again(said: str) -> None:
    assert after(said, LINES) == LINES


def test_what_was_left_out_can_be_taken_in_again() -> None:
    assert after("Actually, let's take the hostel.", ["not the hostel"]) == ["take the hostel"]


def test_the_way_there_and_the_way_back_stay_apart() -> None:
    lines = ["leave on the third of May"]
    assert after("Actually, let's come back on the ninth.", lines) == [
        *lines,
        "come back on the ninth",
    ]
