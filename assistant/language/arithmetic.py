"""Calculates with exact fractions, units and money.

`written_sums` converts spoken words to the expressions that are read here. Multiplication takes
precedence over addition, as in mathematics. An expression that can't be read, or whose units make
no sense, raises `Unreadable`.
"""

import math
import re
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction

from assistant.language.measures import (
    HUNDREDTH,
    MONEY,
    NUMBER,
    ONE,
    PERCENT,
    Amount,
    Unit,
    as_mass,
    units,
)

MOST_DIGITS = 300
"""Maximum number of digits in a number."""
MOST_TOKENS = 80
LONGEST_NAME = 4
"""Maximum number of words in the name of a unit."""
_DIGITS = Context(prec=40)
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:/\d+)?")
_OPERATORS = {
    "plus": "+",
    "added to": "+",
    "minus": "-",
    "less": "-",
    "take away": "-",
    "subtract": "-",
    "negative": "-",
    "times": "*",
    "multiplied by": "*",
    "multiply by": "*",
    "times by": "*",
    "lots of": "*",
    "divided by": "/",
    "divide by": "/",
    "over": "/",
    "to the power": "^",
    "raised to the power": "^",
    "squared": "²",
    "cubed": "³",
    "factorial": "!",
    "the square root of": "√",
    "square root of": "√",
    "square root": "√",
    "square route of": "√",
    "root of": "√",
    "the cube root of": "∛",
    "cube root of": "∛",
    "the square of": "square",
    "the cube of": "cube",
    "twice": "twice",
    "double": "twice",
    "triple": "thrice",
}
_FUNCTIONS = {"square": 2, "cube": 3}
_MULTIPLES = {"twice": 2, "thrice": 3}


class Unreadable(Exception):
    """The words are not a calculation, or part of the calculation isn't understood."""


class Impossible(Exception):
    """A calculation that has no result. The message is a sentence for the user."""


BY_ZERO = "Nothing can be divided by zero."
NO_ROOT = "A negative number has no square root among the real numbers."
NO_FACTORIAL = "Only zero and positive whole numbers have a factorial."
TOO_LARGE = "That number is too large for me to work out."


def evaluate(text: str) -> Amount:
    """Calculate an expression.

    Raises:
        Unreadable: a part of it isn't understood.
        Impossible: it has no result, or one that is too large.
    """
    parser = _Parser(tokens(text))
    amount = parser.sum()
    if parser.next is not None:
        raise Unreadable(text)
    return amount


def has_operation(text: str) -> bool:
    """Return whether there is anything to calculate, not just a number or an amount."""
    return any(
        isinstance(token, str) and token not in ("a", "an", "percent") for token in tokens(text)
    )


Token = str | Fraction | Unit


def tokens(text: str) -> list[Token]:
    """Split an expression into numbers, units and signs. Other words are kept, except "the",
    "degree" and "degrees", which are dropped."""
    words, found, at = text.split(), list[Token](), 0
    while at < len(words):
        if _NUMBER.fullmatch(words[at]):
            found.append(_number(words[at]))
            at += 1
            continue
        for length in range(LONGEST_NAME, 0, -1):
            name = " ".join(words[at : at + length])
            if name in _OPERATORS or name in units():
                found.append(_OPERATORS.get(name) or units()[name])
                at += len(words[at : at + length])
                break
        else:
            if words[at] not in ("the", "degrees", "degree"):
                found.append(words[at])
            at += 1
    if len(found) > MOST_TOKENS:
        raise Unreadable(text)
    return found


def _number(text: str) -> Fraction:
    if len(text) > MOST_DIGITS:
        raise Impossible(TOO_LARGE)
    numerator, _, denominator = text.partition("/")
    if denominator and not int(denominator):
        raise Impossible(BY_ZERO)
    return Fraction(numerator) / int(denominator or 1)


class _Parser:
    """A recursive-descent parser that calculates while it reads."""

    def __init__(self, found: Sequence[Token]) -> None:
        self._tokens = found
        self._at = 0

    @property
    def next(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self, *wanted: str) -> str | None:
        """Take the next token if it is one of these."""
        token = self.next
        if isinstance(token, str) and token in wanted:
            self._at += 1
            return token
        return None

    def sum(self) -> Amount:
        amount = self._product()
        while sign := self._take("+", "-"):
            amount = add(amount, self._product(), 1 if sign == "+" else -1)
        return amount

    def _product(self) -> Amount:
        amount = self._signed()
        while sign := self._take("*", "/"):
            other = self._signed()
            amount = multiply(amount, other) if sign == "*" else divide(amount, other)
        return amount

    def _signed(self) -> Amount:
        if self._take("-"):
            amount = self._signed()
            return Amount(-amount.value, amount.unit)
        if multiple := self._take(*_MULTIPLES):
            return multiply(Amount(Fraction(_MULTIPLES[multiple])), self._signed())
        if function := self._take(*_FUNCTIONS):
            return power(self._signed(), Amount(Fraction(_FUNCTIONS[function])))
        if root := self._take("√", "∛"):
            return nth_root(self._signed(), 2 if root == "√" else 3)
        return self._power()

    def _power(self) -> Amount:
        base = self._primary()
        while sign := self._take("²", "³", "!"):
            base = (
                factorial(base) if sign == "!" else power(base, Amount(Fraction(2 + (sign == "³"))))
            )
        if self._take("^"):
            return power(base, self._signed())
        return base

    def _primary(self) -> Amount:
        if self._take("("):
            amount = self.sum()
            if not self._take(")"):
                raise Unreadable(")")
            return amount
        amount = self._amount()
        if self._take("percent"):
            amount = Amount(amount.value, HUNDREDTH) if amount.unit == ONE else _unreadable()
        share = amount.unit == HUNDREDTH or (amount.unit == ONE and amount.value.denominator > 1)
        if share and self._take("of"):
            return multiply(amount, self._signed())
        if amount.unit == HUNDREDTH and self._take("off"):
            self._take("of")
            return add(self._signed(), amount, -1)
        return amount

    def _amount(self) -> Amount:
        """Read a number, or an amount in one or more units: "5 foot 11", "2 hours 30 minutes"."""
        amount = self._single()
        while amount.unit not in (ONE, HUNDREDTH):
            more = self._more(amount)
            if more is None:
                break
            amount = more
        return amount

    def _single(self) -> Amount:
        token = self.next
        if isinstance(token, Fraction):
            self._at += 1
            unit = self.next
            if isinstance(unit, Unit):
                self._at += 1
                return Amount(token, unit)
            return Amount(token)
        article = self._take("a", "an", "one")
        unit = self.next
        if article and isinstance(unit, Unit):
            self._at += 1
            return Amount(Fraction(1), unit)
        raise Unreadable(str(token))

    def _more(self, amount: Amount) -> Amount | None:
        """Read a smaller amount that belongs to `amount`, and return their sum; None if there is
        none."""
        start, unit = self._at, amount.unit
        self._take("and")
        number = self.next
        if isinstance(number, Fraction):
            self._at += 1
            part = self.next
            if isinstance(part, Unit):
                self._at += 1
                if (made := _together(amount, Amount(number, part))) is not None:
                    return made
            elif number < 1 and self._tokens[start] == "and":  # "a pound and a half"
                return Amount(amount.value + number, unit)
            elif self._at == start + 1 and unit.hundredth and 0 < number < 100:
                return Amount(amount.value + number / 100, unit)
            elif self._at == start + 1 and unit.parts:  # "5 foot 11"
                return _together(amount, Amount(number, units()[unit.parts]))
        self._at = start
        return None


def _together(whole: Amount, part: Amount) -> Amount | None:
    """Add an amount in a smaller unit: "2 hours" and "30 minutes"."""
    if as_mass(whole).unit.dimension == as_mass(part).unit.dimension:
        whole, part = as_mass(whole), as_mass(part)
    added = part.to(whole.unit)
    if added is None or whole.value.denominator > 1 or not 0 <= added.value < 1:
        return None
    return Amount(whole.value + added.value, whole.unit)


def _unreadable() -> Amount:
    raise Unreadable


def add(first: Amount, second: Amount, sign: int = 1) -> Amount:
    """Add or subtract. If only the second is a percentage, it is a percentage of the first, as in a
    shop's discount."""
    if second.unit.dimension == PERCENT != first.unit.dimension:
        return Amount(first.value * (1 + sign * second.value / 100), first.unit)
    if {first.unit.dimension, second.unit.dimension} == {MONEY, NUMBER}:
        unit = first.unit if first.unit.dimension == MONEY else second.unit
        return Amount(first.value + sign * second.value, unit)
    other = second.to(first.unit)
    if other is None or first.unit.offset:
        raise Unreadable
    return Amount(first.value + sign * other.value, first.unit)


def multiply(first: Amount, second: Amount) -> Amount:
    """Multiply. At least one of the two must be a number or a percentage."""
    for one, other in ((first, second), (second, first)):
        if one.unit.dimension in (NUMBER, PERCENT) and not other.unit.offset:
            _check(_size(one.value) + _size(other.value))
            return Amount(one.value * one.unit.factor * other.value, other.unit)
    raise Unreadable


def divide(first: Amount, second: Amount) -> Amount:
    if not second.value:
        raise Impossible(BY_ZERO)
    if second.unit.dimension in (NUMBER, PERCENT):
        return multiply(first, Amount(1 / (second.value * second.unit.factor)))
    other = second if second.unit == first.unit else second.to(first.unit)
    if other is None or first.unit.offset:
        raise Unreadable
    return Amount(first.value / other.value)


def power(base: Amount, exponent: Amount) -> Amount:
    """Raise to a power. The size of the result is checked before it is calculated."""
    if base.unit != ONE or exponent.unit != ONE:
        raise Unreadable
    value, times = base.value, exponent.value
    if not value:
        if times < 0:
            raise Impossible(BY_ZERO)
        return Amount(Fraction(int(not times)))
    if abs(value) == 1 and times.denominator == 1:
        return Amount(value ** int(times % 2))
    _check(_size(value) * abs(times))
    if times.denominator == 1:
        return Amount(value ** int(times))
    if value < 0:
        raise Impossible(NO_ROOT)
    if times.denominator in (2, 3):
        return power(nth_root(base, times.denominator), Amount(Fraction(times.numerator)))
    return Amount(Fraction(_DIGITS.power(_decimal(value), _decimal(times))))


def nth_root(amount: Amount, degree: int) -> Amount:
    """Return the square root or the cube root. The result is exact if the root is rational."""
    value = amount.value
    if amount.unit != ONE:
        raise Unreadable
    if value < 0 and degree == 2:
        raise Impossible(NO_ROOT)
    size = abs(value)
    exact = [_whole_root(each, degree) for each in size.as_integer_ratio()]
    root = (
        Fraction(exact[0], exact[1])
        if exact[0] is not None and exact[1]
        else Fraction(_DIGITS.power(_decimal(size), _decimal(Fraction(1, degree))))
    )
    return Amount(-root if value < 0 else root)


def factorial(amount: Amount) -> Amount:
    value = amount.value
    if amount.unit != ONE or value < 0 or value.denominator > 1:
        raise Impossible(NO_FACTORIAL)
    if value > MOST_DIGITS / 2:
        raise Impossible(TOO_LARGE)
    return Amount(Fraction(math.factorial(int(value))))


def _whole_root(number: int, degree: int) -> int | None:
    """Return the root of a whole number; None if the root is not whole."""
    root = math.isqrt(number) if degree == 2 else round(Decimal(number) ** (Decimal(1) / 3))
    return root if root**degree == number else None


def _decimal(value: Fraction) -> Decimal:
    return _DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def _size(value: Fraction) -> float:
    """Return roughly the number of digits in the numerator or denominator, whichever is longer."""
    return max(len(str(abs(value.numerator))), len(str(value.denominator))) - 0.7


def _check(digits: Fraction | float) -> None:
    if digits > MOST_DIGITS:
        raise Impossible(TOO_LARGE)
