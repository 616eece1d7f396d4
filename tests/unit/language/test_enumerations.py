"""Enumerations as they are spoken are split into their parts, and joined again."""

import pytest

from assistant.language.enumerations import is_amount, joined, names_act, parts, without_amount
from assistant.language.numbers import number_word


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("milk", ["milk"]),
        ("Milk.", ["Milk"]),
        ("the milk", ["milk"]),
        ("milk, eggs and some bread", ["milk", "eggs", "bread"]),
        ("milk and eggs and bread", ["milk", "eggs", "bread"]),
        ("milk, eggs, and bread, please", ["milk", "eggs", "bread"]),
        ("eggs as well as bacon", ["eggs", "bacon"]),
        ("eggs plus bacon & beans", ["eggs", "bacon", "beans"]),
        ("two pints of milk and a tin of tomatoes", ["two pints of milk", "a tin of tomatoes"]),
        ("some more milk, too", ["milk"]),
        ("um, milk and, uh, eggs", ["milk", "eggs"]),
        ("milk, and then also some cheese", ["milk", "cheese"]),
        ("fish and chips", ["fish and chips"]),
        ("salt and pepper and oil", ["salt and pepper", "oil"]),
        ("Salt & pepper, mac and cheese", ["Salt and pepper", "mac and cheese"]),
        ("Ben and Jerry’s and M&Ms", ["Ben and Jerry's", "M&Ms"]),
        ("bread and butter", ["bread", "butter"]),
        ("half and half and coffee", ["half and half", "coffee"]),
        ("1,000 paper clips, tape", ["1,000 paper clips", "tape"]),
        ("two and a half pounds of flour and rice", ["two and a half pounds of flour", "rice"]),
        ("a pound and a half of mince and rice", ["a pound and a half of mince", "rice"]),
        ("a hundred and fifty grams of ham, figs", ["a hundred and fifty grams of ham", "figs"]),
        ("sandals", ["sandals"]),
        ("brandy and sand", ["brandy", "sand"]),
        ("to call mum", ["call mum"]),
        ("call the dentist and book a table", ["call the dentist", "book a table"]),
        ("buy milk and eggs, water the plants", ["buy milk and eggs", "water the plants"]),
        ("water, bread and books", ["water", "bread", "books"]),
        ("dentist, bank and gym", ["dentist", "bank", "gym"]),
        ("the", []),
        ("and", []),
        (" , ", []),
        ("", []),
    ],
)
def test_an_enumeration_is_split_into_its_parts(said: str, found: list[str]) -> None:
    assert parts(said) == found


@pytest.mark.parametrize(
    ("part", "thing"),
    [
        ("two pints of milk", "milk"),
        ("a dozen eggs", "eggs"),
        ("a couple of lemons", "lemons"),
        ("500 g flour", "flour"),
        ("500g flour", "flour"),
        ("a large tin of beans", "beans"),
        ("tins of beans", "beans"),
        ("half and half", "half and half"),
        ("tin opener", "tin opener"),
        ("milk", "milk"),
        ("bottle", "bottle"),
        ("a tablet stand", "tablet stand"),
        ("two capsule wardrobes", "capsule wardrobes"),
    ],
)
def test_the_amount_of_a_thing_is_left_out(part: str, thing: str) -> None:
    assert without_amount(part) == thing


@pytest.mark.parametrize(
    "part",
    [
        *("ten rolls", "two bunches", "half a tablet", "twenty milligrams", "three", "Three", "12"),
        *("two large bags", "twenty-five", "two and a half pounds", "a dozen", "half a dozen"),
        *("a hundred grams", "500 mg", "500mg", "2.5 kg", "a hundred and fifty grams"),
        *("one pound and a half", "two dozen boxes"),
    ],
)
def test_a_number_is_an_amount_with_and_without_a_unit(part: str) -> None:
    assert is_amount(part)


@pytest.mark.parametrize(
    "part",
    [
        *("tablet", "a tablet", "the case", "a bag", "bag", "glasses", "sheets", "a pot", "cases"),
        *("set", "a", "the", "an", "I", "C", "", "half and half", "ten eggs", "7 Up", "7up"),
        *("the second", "second", "ten rolls of tape", "tent", "a few", "one tablet stand"),
    ],
)
def test_what_begins_with_no_number_or_names_a_thing_is_no_amount(part: str) -> None:
    assert not is_amount(part)


@pytest.mark.parametrize(
    ("part", "acts"),
    [
        ("call the dentist", True),
        ("water the plants", True),
        ("water", False),
        ("water bottles", False),
        ("book", False),
        ("eggs", False),
    ],
)
def test_what_is_to_be_done_differs_from_what_is_to_be_got(part: str, acts: bool) -> None:
    assert names_act(part) is acts


@pytest.mark.parametrize(
    ("names", "most", "spoken"),
    [
        ([], None, ""),
        (["milk"], None, "milk"),
        (["milk", "eggs"], None, "milk and eggs"),
        (["milk", "eggs", "tea"], None, "milk, eggs and tea"),
        (["milk", "salt and pepper"], None, "milk, and salt and pepper"),
        (["milk", "eggs", "tea"], 2, "milk, eggs, and one more"),
        (["milk", "eggs"], 2, "milk and eggs"),
    ],
)
def test_names_are_joined_for_speech(names: list[str], most: int | None, spoken: str) -> None:
    assert joined(names, most=most) == spoken


def test_numbers_are_spelled() -> None:
    spelled = [number_word(each) for each in (0, 1, 13, 20, 42, 99, 100)]
    assert spelled == ["zero", "one", "thirteen", "twenty", "forty-two", "ninety-nine", "100"]
