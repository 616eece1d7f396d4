"""Puts numbers into English words that can be spoken: "three hundred and twelve"."""

import math
from fractions import Fraction

from assistant.language.numbers import cardinals

LARGE = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (10**3, "thousand"))
WHOLE = 10**12
"""Whole numbers below this are spoken in full."""
LARGEST_NAMED = 10**15
"""Numbers below this are spoken with the name of their size ("trillion"), all others with a power
of ten."""
SMALLEST_NAMED = Fraction(1, 10**6)
"""Numbers below this are spoken with a power of ten, too."""


def whole_number(number: int) -> str:
    """Return the words for a whole number of less than `LARGEST_NAMED`, as the British say it."""
    if number < 0:
        return f"minus {whole_number(-number)}"
    words: list[str] = []
    for size, name in LARGE:
        count, number = divmod(number, size)
        if count:
            words.append(f"{_below_thousand(count)} {name}")
    if number or not words:
        words += ["and"] * (bool(words) and number < 100) + [_below_thousand(number)]
    return " ".join(words)


def _below_thousand(number: int) -> str:
    words = {value: word for word, value in cardinals().items()}
    if number >= 100:
        rest = f" and {_below_thousand(number % 100)}" if number % 100 else ""
        return f"{words[number // 100]} hundred{rest}"
    if number in words:
        return words[number]
    return f"{words[number - number % 10]}-{words[number % 10]}"


def rounded(value: Fraction, places: int) -> Fraction:
    """Round a number for speech. A number with at most `places` decimal places is unchanged. Other
    numbers are rounded to about three or four digits.

    Args:
        places: number of decimal places; numbers below one may have two more.
    """
    size = abs(value)
    kept = places if size >= 1 else places + 2
    if size >= LARGEST_NAMED or size < SMALLEST_NAMED or (value * 10**kept).denominator == 1:
        return value
    if size >= 10**6:
        step = 10 ** (len(str(int(size))) - 3)
        return Fraction(round(value / step) * step)
    decimals = 0 if size >= 1000 else 1 if size >= 100 else 2
    if size < 1:
        decimals = next((n for n in range(2, 9) if size * 10**n >= 100), 0)
    return Fraction(round(value * 10**decimals), 10**decimals)


def spoken_number(value: Fraction) -> tuple[str, bool]:
    """Return the words for a number, and whether they give its exact value. All of its decimals
    are spoken, so it should be `rounded`."""
    sign, size = "minus " * (value < 0), abs(value)
    if size >= LARGEST_NAMED or 0 < size < SMALLEST_NAMED:
        return _power_of_ten(value)
    if size >= WHOLE:
        count = rounded(size / 10**12, 2)
        return f"{sign}{spoken_number(count)[0]} trillion", count * 10**12 == size
    whole, part = divmod(size, 1)
    if not part:
        return f"{sign}{whole_number(int(whole))}", True
    decimals = 1
    while decimals < 16 and (part * 10**decimals).denominator != 1:
        decimals += 1
    digits = f"{int(part * 10**decimals):0{decimals}d}"
    point = " ".join(_below_thousand(int(digit)) for digit in digits)
    exact = (part * 10**decimals).denominator == 1
    return f"{sign}{whole_number(int(whole))} point {point}", exact


def _power_of_ten(value: Fraction) -> tuple[str, bool]:
    """Return a huge or a tiny number as "one point two times ten to the power of thirty"."""
    size = abs(value)
    exponent = len(str(int(size))) - 1 if size >= 1 else -len(str(math.ceil(1 / size) - 1))
    count = Fraction(round(size / Fraction(10) ** (exponent - 2)), 100)
    if count >= 10:
        count, exponent = count / 10, exponent + 1
    power = f"ten to the power of {whole_number(exponent)}"
    words = power if count == 1 else f"{spoken_number(count)[0]} times {power}"
    return f"{'minus ' * (value < 0)}{words}", count * Fraction(10) ** exponent == size
