"""Units of measurement: their names, and the factors that convert one to another.

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

    `factor`: its size as a multiple of the base unit of its dimension. `offset`: the number added
    to a temperature before multiplying by the factor. `parts`: the name of the smaller unit that is
    meant if a bare number follows ("5 foot 11"). `parted`: whether results are spoken in the
    unit and that smaller one, unless one is enough. `hundredth`: singular and plural of the
    hundredth part of a currency. `variety`: distinguishes it from units of the same name
    ("imperial").
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
        """Convert to another unit. Return None if that is impossible."""
        if unit == self.unit:
            return self
        if unit.dimension != self.unit.dimension or unit.dimension == MONEY:
            return None
        base = (self.value + self.unit.offset) * self.unit.factor
        return Amount(base / unit.factor - unit.offset, unit, self.unit)


@cache
def units() -> dict[str, Unit]:
    """Return the units by each of their names, which are one or more words in lower case."""
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
    """Return the American counterpart of an imperial unit; any other unit unchanged."""
    name = f"american {unit.singular.removeprefix('imperial ')}"
    return units()[name] if unit.variety == "imperial" else unit


def as_mass(amount: Amount) -> Amount:
    """Convert pounds of money to pounds of mass, because "pounds" can mean either."""
    return Amount(amount.value, mass_of(amount.unit))


def mass_of(unit: Unit) -> Unit:
    """Return the pound of mass for the pound of money; any other unit unchanged."""
    return units()["pound of mass"] if unit == units()["pound"] else unit
