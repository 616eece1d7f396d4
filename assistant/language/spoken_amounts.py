"""Puts amounts into words that can be spoken: "about two point two seven kilograms"."""

from fractions import Fraction

from assistant.language.measures import MONEY, NUMBER, Amount, units
from assistant.language.spoken_numbers import rounded, spoken_number


def spoken_amount(amount: Amount) -> str:
    """Return an amount with its unit: "about two point two seven kilograms", "sixteen pounds
    twenty"."""
    unit = amount.unit
    if unit.dimension == MONEY:
        return _spoken_money(amount)
    if unit.parted and (parted := _parted(amount)):
        return parted
    places = 3 if unit.dimension == NUMBER else 2
    value = rounded(amount.value, places)
    words, exact = spoken_number(value)
    about = "" if exact and value == amount.value else "about "
    name = unit.singular.removesuffix(" of mass") if value == 1 else unit.plural
    return f"{about}{words} {name}".strip()


def _spoken_money(amount: Amount) -> str:
    """Return a sum of money: "sixteen pounds twenty", "five pounds and two pence"."""
    unit, cents = amount.unit, round(abs(amount.value) * 100)
    about = "about " * (cents != abs(amount.value) * 100)
    minus = "minus " * (amount.value < 0 and cents > 0)
    whole, part = divmod(cents, 100)
    singular, plural = unit.hundredth or ("", "")
    name = unit.singular if whole == 1 else unit.plural
    small = f"{spoken_number(Fraction(part))[0]} {singular if part == 1 else plural}"
    if not whole and part:
        return f"{about}{minus}{small}"
    words = f"{about}{minus}{spoken_number(Fraction(whole))[0]} {name}"
    if not part:
        return words
    return f"{words} {spoken_number(Fraction(part))[0]}" if part > 9 else f"{words} and {small}"


def _parted(amount: Amount) -> str | None:
    """Return an amount in two units: feet and inches, stone and pounds, or hours and minutes.
    Return None if one unit is enough: for multiples of a half, and for amounts below 1 or above
    100."""
    unit = amount.unit
    if (amount.value * 2).denominator == 1:
        return None
    smaller = units()[unit.parts]
    each = int(unit.factor / smaller.factor)
    count = round(abs(amount.value) * each)
    whole, part = divmod(count, each)
    about = "about " * (count != abs(amount.value) * each)
    if not whole or amount.value < 0 or amount.value > 100:
        return None
    words = f"{about}{spoken_amount(Amount(Fraction(whole), unit))}"
    if not part:
        return words
    joined = " and " if unit.dimension == "time" else " "
    return f"{words}{joined}{spoken_amount(Amount(Fraction(part), smaller))}"


def source_words(amount: Amount) -> str:
    """Return a phrase that says which pint or gallon was converted; empty if that is clear."""
    source = amount.source
    if source is None or amount.unit.variety or not source.variety:
        return ""
    return f", for the {source.singular}"
