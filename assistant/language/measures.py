"""Units of measurement: how they are called, and how many of one are in another.

The table is in `data/languages/en.toml`. It holds only units that people convert in daily life, so
that no short word ("a", "us", "as") is taken for a unit. All factors are exact by definition, or as
exact as the unit is.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from assistant.language.word_lists import language_data

NUMBER, PERCENT, MONEY = "number", "percent", "money"


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measurement.

    `factor`: how many of the dimension's first units it has. `offset`: what is added to a
    temperature before it is multiplied. `parts`: the name of the smaller unit that is meant by a
    number alone after it ("5 foot 11"). `parted`: whether amounts are spoken so, too. `hundredth`:
    singular and plural of the hundredth part of a currency. `variety`: which of several units of
    the same name it is ("imperial").
    """

    singular: str
    plural: str
    dimension: str
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)
    parts: str = ""
    parted: bool = False
    hundredth: tuple[str, str] | None = None
    variety: str = ""


ONE = Unit("", "", NUMBER)
HUNDREDTH = Unit("percent", "percent", PERCENT, Fraction(1, 100))


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of units. `source`: the unit that it was converted from, if known."""

    value: Fraction
    unit: Unit = ONE
    source: Unit | None = None

    def to(self, unit: Unit) -> "Amount | None":
        """Convert to another unit, or return None if it measures something else."""
        if unit == self.unit:
            return self
        if unit.dimension != self.unit.dimension or unit.dimension == MONEY:
            return None
        base = (self.value + self.unit.offset) * self.unit.factor
        return Amount(base / unit.factor - unit.offset, unit, self.unit)


@cache
def units() -> dict[str, Unit]:
    """Return the units by all of their names: one or more words in lower case."""
    found: dict[str, Unit] = {}
    for dimension, rows in language_data("en")["measures"].items():
        for singular, row in rows.items():
            unit = Unit(
                singular,
                row["plural"],
                dimension,
                Fraction(row.get("factor", "1")),
                Fraction(row.get("offset", "0")),
                row.get("parts", ""),
                row.get("parted", False),
                (row["hundredth"][0], row["hundredth"][1]) if "hundredth" in row else None,
                row.get("variety", ""),
            )
            names = [singular, row["plural"], *row.get("words", "").split(", ")]
            found |= {name.lower(): unit for name in names if name}
    return found


def american(unit: Unit) -> Unit:
    """Return the American unit of the same name as an imperial one, or else the unit itself."""
    name = f"american {unit.singular.removeprefix('imperial ')}"
    return units()[name] if unit.variety == "imperial" else unit


def as_mass(amount: Amount) -> Amount:
    """Return pounds of money as pounds of mass: the words are the same."""
    return Amount(amount.value, mass_of(amount.unit))


def mass_of(unit: Unit) -> Unit:
    """Return the unit of mass that has the name of a currency, or else the unit itself."""
    return units()["pound of mass"] if unit == units()["pound"] else unit
