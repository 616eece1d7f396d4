"""Calculations as they are said, and the sentences that answer them."""

import random
from datetime import datetime
from fractions import Fraction

import pytest
from num2words import num2words

from assistant.language.arithmetic import BY_ZERO, NO_FACTORIAL, NO_ROOT, TOO_LARGE
from assistant.language.calculations import calculate, result

NOW = datetime(2026, 11, 18, 10, 20).astimezone()


def answers(said: str) -> str | None:
    """Return what is answered, without "That's" and the full stop."""
    text = calculate(said, NOW)
    return text.removeprefix("That's ").removesuffix(".") if text is not None else None


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("23 times 17", "three hundred and ninety-one"),
        ("three hundred and twelve divided by eight", "thirty-nine"),
        ("What's 1,250 divided by 4?", "three hundred and twelve point five"),
        ("100 divided by 7", "about fourteen point two nine"),
        ("1 divided by 3", "about zero point three three three"),
        ("what is 0.1 plus 0.2", "zero point three"),
        ("uh what's forty-two times three please", "one hundred and twenty-six"),
        ("7 and a half times 4", "thirty"),
        ("three and two thirds times three", "eleven"),
        ("1 and a half plus 2 and three quarters", "four point two five"),
        ("2 1/2 times 3", "seven point five"),
        ("1/2 plus 1/3", "about zero point eight three three"),
        ("7/8", "zero point eight seven five"),
        ("two point five times four", "ten"),
        ("point five times 8", "four"),
        ("a quarter of a million", "two hundred and fifty thousand"),
        ("one and a half million divided by 3", "five hundred thousand"),
        ("a dozen times 12", "one hundred and forty-four"),
        ("three dozen", "thirty-six"),
        ("half of 37", "eighteen point five"),
        ("a third of 90", "thirty"),
        ("double 37", "seventy-four"),
        ("What is two and two?", "four"),
        ("a hundred and twenty and thirty", "one hundred and fifty"),
        ("12 minus 5 plus 3", "ten"),
        ("3 plus 4 times 2", "eleven"),
        ("3 plus 4 in brackets times 2", "fourteen"),
        ("2 times in brackets 3 plus 4", "fourteen"),
        ("open bracket 3 plus 4 close bracket times 2", "fourteen"),
        ("(3+4)*2", "fourteen"),
        ("100-37", "sixty-three"),
        ("7 minus minus 3", "ten"),
        ("negative 5 times 3", "minus fifteen"),
        ("12x12", "one hundred and forty-four"),
        ("eight into fifty-six", "seven"),
        ("17 mod 5", "two"),
        ("subtract 5 from 12", "seven"),
        ("the difference between 7 and 20", "thirteen"),
        ("the product of 6 and 7", "forty-two"),
        ("dd up 12, 18 and 45.", "seventy-five"),
        ("the average of 3, 5, and 10", "six"),
        ("average of 3 5 10", "six"),
    ],
)
def test_sums_are_calculated(said: str, answer: str) -> None:
    assert answers(said) == answer


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("the square root of 144", "twelve"),
        ("Square route of 196", "fourteen"),
        ("square root of 2", "about one point four one"),
        ("square root of 9/16", "zero point seven five"),
        ("cube root of 27", "three"),
        ("12 squared", "one hundred and forty-four"),
        ("2 to the power of 10", "one thousand and twenty-four"),
        ("two to the tenth", "one thousand and twenty-four"),
        ("2 to the power of minus 1", "zero point five"),
        ("4 to the power of a half", "two"),
        ("minus 5 squared", "minus twenty-five"),
        ("10 factorial", "three million six hundred and twenty-eight thousand eight hundred"),
        (
            "2 to the power of 64",
            "about one point eight four times ten to the power of nineteen",
        ),
        ("1 to the power of 99999999999", "one"),
    ],
)
def test_powers_and_roots_are_calculated(said: str, answer: str) -> None:
    assert answers(said) == answer


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("15% of 80", "twelve"),
        ("twelve and a half percent of three hundred and sixty", "forty-five"),
        ("20% off 45 pounds", "thirty-six pounds"),
        ("take 15 per cent off 60", "fifty-one"),
        ("45 plus VAT at 20 percent", "fifty-four"),
        ("£45 plus 20% VAT", "fifty-four pounds"),
        ("VAT on 250 at 20 percent", "fifty"),
        ("a 12% tip on £54", "six pounds forty-eight"),
        ("a 15 percent tip on a 62 dollar bill", "nine dollars thirty"),
        ("£120 minus 15%", "one hundred and two pounds"),
        ("what percent of 80 is 12", "fifteen percent"),
        ("12 as a percentage of 80", "fifteen percent"),
        ("12 out of 80 as a percentage", "fifteen percent"),
        ("increase 80 by 15 percent", "ninety-two"),
    ],
)
def test_percentages_are_calculated(said: str, answer: str) -> None:
    assert answers(said) == answer


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Split £86.40 between six", "fourteen pounds forty"),
        ("£100 split three ways", "about thirty-three pounds thirty-three"),
        ("split the bill of £90 among 4 people", "twenty-two pounds fifty"),
        ("£16.20 plus £3.85", "twenty pounds and five pence"),
        ("sixteen pounds twenty times three", "forty-eight pounds sixty"),
        ("£3.50 plus 99p", "four pounds forty-nine"),
        ("$19.99 times 3", "fifty-nine dollars ninety-seven"),
        ("5 dollars and 50 cents times 2", "eleven dollars"),
        ("€10 divided by 20", "fifty cents"),
        ("one penny short: 1 pound minus 99 pence", None),
        ("1 pound minus 99 pence", "one penny"),
        ("£5 minus 7 pounds", "minus two pounds"),
        ("37.5 hours at £13.20 an hour", "four hundred and ninety-five pounds"),
        ("£13.20 an hour for 37.5 hours", "four hundred and ninety-five pounds"),
        ("£1,150 a month over a year", "thirteen thousand eight hundred pounds"),
        ("£4 a day for a week", "twenty-eight pounds"),
        ("5 tickets at £12.50 each", "sixty-two pounds fifty"),
    ],
)
def test_money_is_calculated_to_the_penny(said: str, answer: str | None) -> None:
    assert answers(said) == answer


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("how many grams in two pounds", "about nine hundred and seven point two grams"),
        ("how many grams in a pound and a half", "about six hundred and eighty point four grams"),
        ("5 miles in kilometres", "about eight point zero five kilometres"),
        ("two stone in kilos", "about twelve point seven kilograms"),
        ("11 stone 4 in kilos", "about seventy-one point six seven kilograms"),
        ("5 lbs in kg", "about two point two seven kilograms"),
        ("how many pounds in a stone", "fourteen pounds"),
        ("pounds in a kilo", "about two point two pounds"),
        ("5'11\" in cm", "one hundred and eighty point three four centimetres"),
        ("five foot eleven in centimetres", "one hundred and eighty point three four centimetres"),
        ("180 cm in feet and inches", "about five feet eleven inches"),
        ("one metre eighty in feet", "about five feet eleven inches"),
        ("180 Celsius in Fahrenheit", "three hundred and fifty-six degrees Fahrenheit"),
        ("98.6 F in C", "thirty-seven degrees Celsius"),
        ("minus 40 celsius in fahrenheit", "minus forty degrees Fahrenheit"),
        ("how many seconds in a day", "eighty-six thousand four hundred seconds"),
        ("how many minutes in three and a quarter hours", "one hundred and ninety-five minutes"),
        ("three quarters of an hour in minutes", "forty-five minutes"),
        ("how many hours is 200 minutes", "three hours and twenty minutes"),
        ("how many months in 3 years", "thirty-six months"),
        ("30 mph in km/h", "about forty-eight point two eight kilometres per hour"),
        ("how many inches in a foot", "twelve inches"),
        ("12 inches in feet", "one foot"),
    ],
)
def test_units_are_converted(said: str, answer: str) -> None:
    assert answers(said) == answer


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("how many pints in a litre", "about one point seven six imperial pints"),
        ("how many cups in a litre", "about four point two three American cups"),
        ("how many cups in a pint", "two American cups"),
        ("how many ounces in a cup", "eight American fluid ounces"),
        ("how many ounces in a pound", "sixteen ounces"),
        (
            "how many litres in a gallon",
            "about four point five five litres, for the imperial gallon",
        ),
        (
            "how many litres in a US gallon",
            "about three point seven nine litres, for the American gallon",
        ),
    ],
)
def test_it_is_said_which_pint_cup_or_gallon_is_meant(said: str, answer: str) -> None:
    assert answers(said) == answer


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("5 divided by 0", BY_ZERO),
        ("5/0", BY_ZERO),
        ("0 to the minus 2 times 3 over zero", None),
        ("0 to the power of minus 2", BY_ZERO),
        ("5 mod 0", BY_ZERO),
        ("10^10^10", TOO_LARGE),
        ("999 to the power of 999999999 times 2", TOO_LARGE),
        ("9^9^9^9", TOO_LARGE),
        ("10^250 times 10^250", TOO_LARGE),
        ("1000000 factorial", TOO_LARGE),
        ("2.5 factorial", NO_FACTORIAL),
        ("square root of minus 4", NO_ROOT),
    ],
)
def test_what_has_no_result_is_answered_with_one_sentence(said: str, sentence: str | None) -> None:
    assert calculate(said, NOW) == sentence


@pytest.mark.parametrize(
    "said",
    [
        "",
        "hello there",
        "the meaning of life",
        "45",
        "£45",
        "half",
        "5 percent",
        "5 plus",
        "times 5",
        "12 13",
        "20 pounds in euros",
        "200 grams of flour in cups",
        "how many calories in an apple",
        "how many legs does a spider have",
        "15 percent discount on 60",
        "what's -10 in fahrenheit",
        "5 miles plus 2 kilos",
        "multiply 3 by 4 plus 5",
        "divide 100 by 5 times 2",
        "5k divided by 2",
        "£2m divided by 4",
        "what's 5 plus 5 and then times 2",
        "(3 plus 4",
        "5 miles in miles per hour",
        "40 hours a week at 12 pounds an hour",
        "3 plus " * 60 + "1",
        "in " * 66,
        "1_0_0 plus __import__",
        "½½½ of ²³",
    ],
)
def test_what_is_not_read_as_a_whole_has_no_answer(said: str) -> None:
    assert calculate(said, NOW) is None


SPOKEN = {"+": "plus", "-": "minus", "*": "times"}


@pytest.mark.parametrize("seed", range(5))
def test_random_sums_in_digits_and_in_words_give_what_python_gives(seed: int) -> None:
    choose = random.Random(seed)
    for _ in range(100):
        numbers = [choose.randint(0, 9999) for _ in range(choose.randint(2, 5))]
        signs = [choose.choice("+-*") for _ in numbers[1:]]
        written, digits, words = str(numbers[0]), f"{numbers[0]:,}", num2words(numbers[0])
        for sign, number in zip(signs, numbers[1:], strict=True):
            written += f" {sign} {number}"
            digits += f" {SPOKEN[sign]} {number:,}"
            words += f" {SPOKEN[sign]} {num2words(number).replace(',', '')}"
        amounts = [result(each) for each in (written, digits, words.replace(",", ""))]
        expected = Fraction(eval(written))
        assert [each.value for each in amounts if each] == [expected] * 3, written
