"""Numbers as they are spoken, compared with those of num2words."""

import random
from fractions import Fraction

import pytest
from num2words import num2words

from assistant.language.numbers import number_of
from assistant.language.spoken_numbers import rounded, spoken_number, whole_number

SOME = [*range(1_101), *random.Random(2).sample(range(1_101, 10**9), 400), 10**6, 10**9, 10**12 + 1]


def test_whole_numbers_are_spoken_as_num2words_writes_them() -> None:
    assert [whole_number(number) for number in SOME] == [
        num2words(number, lang="en_GB").replace(",", "") for number in SOME
    ]


def test_what_is_spoken_is_read_as_the_same_number() -> None:
    numbers = [number for number in SOME if number < 10**6]
    assert [number_of(whole_number(number)) for number in numbers] == numbers


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("-5", "minus five"),
        ("0.05", "zero point zero five"),
        ("-2.5", "minus two point five"),
        ("1000000.25", "one million point two five"),
        ("1500000000000", "one point five trillion"),
        ("1e30", "ten to the power of thirty"),
        ("-2.5e20", "minus two point five times ten to the power of twenty"),
        ("2.5e-9", "two point five times ten to the power of minus nine"),
        ("1e-9", "ten to the power of minus nine"),
    ],
)
def test_numbers_of_all_sizes_have_words(value: str, words: str) -> None:
    assert spoken_number(Fraction(value)) == (words, True)


def test_a_huge_number_with_many_digits_is_not_spoken_as_exact() -> None:
    words = "one point eight four times ten to the power of nineteen"
    assert spoken_number(Fraction(2**64)) == (words, False)
    assert spoken_number(Fraction(10**20 - 1)) == ("ten to the power of twenty", False)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("1/3", "0.333"),
        ("1/7000", "0.000143"),
        ("100/7", "14.29"),
        ("1000/7", "142.9"),
        ("10000/7", "1429"),
        ("1000000000/7", "143000000"),
        ("0.0625", "0.0625"),
        ("12.125", "12.125"),
        ("-1/3", "-0.333"),
        ("123456789", "123456789"),
    ],
)
def test_only_what_has_many_decimals_is_rounded(value: str, kept: str) -> None:
    assert rounded(Fraction(value), 3) == Fraction(kept)
