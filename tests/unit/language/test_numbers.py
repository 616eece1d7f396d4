"""Numbers in words, compared with those of num2words."""

import random

import pytest
from num2words import num2words

from assistant.language.normalisation import content_words
from assistant.language.numbers import number_of, with_digits

SOME = [*range(1_001), *random.Random(1).sample(range(1_001, 1_000_000), 500), 1_000_000]


def test_cardinals_to_a_million_are_read() -> None:
    told = {number: num2words(number).replace(",", "") for number in SOME}
    assert {number: number_of(words) for number, words in told.items()} == {
        number: number for number in SOME
    }


def test_ordinals_of_days_of_the_month_are_read() -> None:
    days = range(1, 32)
    assert [number_of(num2words(day, to="ordinal")) for day in days] == list(days)
    assert [number_of(num2words(day, to="ordinal_num")) for day in days] == list(days)


@pytest.mark.parametrize("text", ["", "no", "one two", "five hundred six hundred", "room 12", "of"])
def test_other_texts_are_not_numbers(text: str) -> None:
    assert number_of(text) is None


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("one two three", "1 2 3"),
        ("twenty twenty six", "20 26"),
        ("twentieth one of them", "20 1 of them"),
        ("nineteen forty", "19 40"),
        ("four hundred five hundred people", "400 500 people"),
        ("two or three thousand", "2 or 3000"),
        ("one thousand two thousand", "1000 2000"),
        ("thousand thousand thousand", "1000 1000 1000"),
        ("a hundred and twenty and a half", "a 120 and a half"),
        ("two hundred and fifty thousand", "250000"),
        ("5 hundred 250 thousand", "500 250000"),
        ("room 007 on the 3rd", "room 007 on the 3"),
        ("2.5 million", "2.5 million"),
        ("the first hundred of the second million", "the 1 100 of the 2 1000000"),
        ("this one", "this one"),
        ("one of them", "1 of them"),
        ("the second", "the second"),
        ("hundreds of them", "hundreds of them"),
    ],
)
def test_numbers_among_other_words_become_digits(said: str, meant: str) -> None:
    assert with_digits(said.split()) == meant.split()


def test_numbers_in_words_and_in_digits_are_equal() -> None:
    said = "My flat costs one thousand two hundred and fifty pounds"
    assert content_words(said) == content_words("my flat costs 1250 pounds")
    assert content_words("I owe a hundred") == content_words("I owe 100")


def test_a_text_of_a_megabyte_is_handled_quickly() -> None:
    assert len(with_digits(["thousand", "and"] * 100_000)) == 200_000
