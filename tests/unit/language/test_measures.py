"""The table of units, and conversions with it."""

from fractions import Fraction

import pytest

from assistant.language.measures import MONEY, Amount, american, units


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        ("1", "mile", "foot", "5280"),
        ("1", "pound of mass", "ounce", "16"),
        ("1", "stone", "pound of mass", "14"),
        ("1", "acre", "square yard", "4840"),
        ("1", "square mile", "acre", "640"),
        ("1", "imperial gallon", "imperial pint", "8"),
        ("1", "imperial pint", "imperial fluid ounce", "20"),
        ("1", "american gallon", "american cup", "16"),
        ("1", "american pint", "american fluid ounce", "16"),
        ("36", "kilometre per hour", "metre per second", "10"),
        ("1", "nautical mile", "metre", "1852"),
        ("1", "knot", "kilometre per hour", "1.852"),
        ("100", "degree celsius", "degree fahrenheit", "212"),
        ("0", "kelvin", "degree celsius", "-273.15"),
        ("1", "century", "year", "100"),
        ("1", "hectare", "square metre", "10000"),
    ],
)
def test_conversions_are_exact_in_both_directions(
    value: str, source: str, target: str, expected: str
) -> None:
    amount = Amount(Fraction(value), units()[source])
    made = amount.to(units()[target])
    assert made is not None
    assert made.value == Fraction(expected)
    back = made.to(units()[source])
    assert back is not None
    assert back.value == amount.value


def test_what_measures_something_else_is_not_converted() -> None:
    assert Amount(Fraction(1), units()["mile"]).to(units()["gram"]) is None
    assert Amount(Fraction(1), units()["£"]).to(units()["€"]) is None


def test_every_part_of_a_unit_is_smaller_and_measures_the_same() -> None:
    for unit in units().values():
        if unit.parts:
            part = units()[unit.parts]
            assert part.dimension == unit.dimension
            assert (unit.factor / part.factor).denominator == 1


def test_every_currency_has_hundredths_and_every_imperial_unit_an_american_one() -> None:
    for unit in units().values():
        assert (unit.hundredth is not None) == (unit.dimension == MONEY)
        assert american(unit).variety in ("", "American")
