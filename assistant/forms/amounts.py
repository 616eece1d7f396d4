"""Reads a number as an answer to a form, and converts it to the slot's unit."""

import re
from fractions import Fraction

from assistant.forms.definition import Slot
from assistant.forms.wording import is_phrase, plain, stripped
from assistant.language.durations import seconds
from assistant.language.measures import MONEY, Amount, Unit, units
from assistant.language.numbers import with_digits
from assistant.language.spoken_numbers import rounded, spoken_number

_NUMBER = re.compile(r"(minus |-)?(\d+(?:\.\d+)?)")
_HALF = re.compile(r"^(\d{1,3}) (?:and (?:a )?|a )(half|quarter)\b")
_PART = re.compile(r"^(?:1 )?(half|quarter)\b(?: an?\b)?")
_PARTS = {"half": "0.5", "quarter": "0.25"}
_RANGE = re.compile(r"\d ?[-–—] ?[£$€]?\d")
MOST = 1e12
"""Numbers this large are misheard, or are identifiers such as account numbers."""
FIRST_TEN = 20
"""A two-digit number of at least this, said after a digit, turns it into hundreds: "one fifty" is
150. A smaller one doesn't, because "five eleven" may be a height."""
_DIGITS = re.compile(r"\b(\d+) point ((?:\d ?)+)")
_MONEY = re.compile(r"[£$€]")
_PAIR = re.compile(r"^(\d) (\d\d)\b")
_TENTHS = re.compile(r"^(\d\d\d?) (?:and )?(\d)\b")
_MONEY_AND_HUNDREDTHS = re.compile(r"^(\d+) ([a-z]+) (\d\d)$")
_HALF_OF_MANY = re.compile(r"^(\d+) and (?:a )?half (1000(?:000)?)\b")
_MILLIONS_AND_HALF = re.compile(r"^(\d+)000000 and (?:a )?half\b")
_UNIT = r"(?: (?P<unit>\w+))?"
_SCALED = (
    re.compile(rf"(?P<count>.*(?:\bpoint\b|\d\.\d).*) (?P<scale>hundred|thousand|million){_UNIT}"),
    re.compile(rf"(?:(?P<count>.+) )?(?P<scale>grand|dozen){_UNIT}"),
    re.compile(rf"(?P<count>.*\d|.+(?= )) ?(?P<scale>k){_UNIT}"),
)
"""Match a number whose last word multiplies all of it: "one point five million", "ten grand"."""
_TIMES = {"hundred": 100, "thousand": 1000, "million": 10**6, "grand": 1000, "k": 1000, "dozen": 12}
_DEGREE = re.compile(r"°|\bdegrees?\b")


def read_number(slot: Slot, words: str) -> float | None:
    """Return the number in the slot's unit. Return None if the words say anything else, contain
    several numbers, or give a number that the slot does not take."""
    try:
        value = _value(slot, words)
    except (ValueError, OverflowError):
        return None
    if value is None or abs(value) >= MOST:
        return None
    low, high = slot.minimum, slot.maximum
    if (low is not None and value < low) or (high is not None and value > high):
        return None
    return int(value) if value == int(value) else round(float(value), 6)


def spoken_value(slot: Slot, value: float) -> str:
    """Return a number with its unit in words."""
    words, _ = spoken_number(rounded(Fraction(str(value)), 3))
    return f"{words} {unit_beside(slot, value)}".strip()


def unit_beside(slot: Slot, value: float) -> str:
    """Return the slot's unit in the singular or in the plural."""
    known = units().get(slot.unit.lower())
    if known is not None:
        return known.singular if value == 1 else known.plural
    return slot.unit.removesuffix("s") if value == 1 else slot.unit


def names_unit(slot: Slot, words: str) -> bool:
    """Return whether the words name the slot's unit ("twenty minutes")."""
    known = units().get(slot.unit.lower())
    names = {known.singular, known.plural} if known else {slot.unit.lower()}
    return bool(slot.unit) and bool(names & {*words.lower().replace(",", " ").split()})


# -- internals ----------------------------------------------------------------------------------


def _value(slot: Slot, words: str) -> Fraction | None:
    if _RANGE.search(words):
        return None
    said = re.sub(r"(?<=\d),(?=\d{3}\b)", "", words)
    said = _MONEY.sub(" ", re.sub(r"(?<!\S)[-−](?=[£$€]?\d)", "minus ", said))
    said = stripped(said.replace("-", " ")).lower()
    if is_phrase(said, "none") or said == "nought":
        return Fraction(0)
    unit = units().get((slot.unit or _asked_unit(slot)).lower())
    length = _duration(said, unit) if unit and unit.dimension == "time" else None
    if length is not None:
        return length
    if found := _scaled(said, unit):
        count = _counted(slot, f"{found['count'] or 'one'} {found['unit'] or ''}", unit)
        return None if count is None else count * _TIMES[found["scale"]]
    return _counted(slot, said, unit)


def _counted(slot: Slot, said: str, unit: Unit | None) -> Fraction | None:
    said = _without_maximum(slot, " ".join(with_digits(said.split(), lone=True)))
    said = _DIGITS.sub(lambda found: f"{found[1]}.{found[2].replace(' ', '')}", said)
    said = _joined(slot, said, unit)
    said = _HALF.sub(lambda found: found[1] + _PARTS[found[2]][1:], said)
    said = _PART.sub(lambda found: _PARTS[found[1]], said)
    found = _NUMBER.match(said)
    if found is None:
        return None
    value = Fraction(found[2]) * (-1 if found[1] else 1)
    return _in_unit(value, said[found.end() :], unit, slot)


def _scaled(said: str, unit: Unit | None) -> re.Match[str] | None:
    """Match a number whose last word multiplies all of it. If a length is asked for, "five k" is
    five kilometres, so it doesn't match."""
    found = next((found for each in _SCALED if (found := each.fullmatch(said))), None)
    lengths = found is not None and found["scale"] == "k" and unit and unit.dimension == "length"
    return None if lengths else found


def _asked_unit(slot: Slot) -> str:
    """Return the unit that the question names ("How many minutes"), or an empty string."""
    words = plain(f"{slot.ask} {slot.label}").split()
    known = units()
    return next((each for each in words if each in known and each == known[each].plural), "")


def _joined(slot: Slot, said: str, unit: Unit | None) -> str:
    """Join the parts of a number that people say separately: "one eighty" is 180, "three oh five"
    305, a temperature of "thirty-seven two" 37.2, "eighteen pounds fifty" 18.50, "two and a half
    thousand" 2,500, and "a million and a half" 1,500,000. If a time is asked for, "one thirty"
    may be an hour and thirty minutes, so it is left unchanged."""
    said = re.sub(r"^(\d) (?:oh|o|0) (?=\d\b)", r"\g<1>0", said)
    if found := _HALF_OF_MANY.match(said):
        value = (2 * int(found[1]) + 1) * int(found[2]) // 2
        return f"{value}{said[found.end() :]}"
    said = _MILLIONS_AND_HALF.sub(r"\g<1>500000", said)
    if found := _MONEY_AND_HUNDREDTHS.match(said):
        named = units().get(found[2])
        return f"{found[1]}.{found[3]} {found[2]}" if named and named.dimension == MONEY else said
    if _DEGREE.search(slot.unit):
        return _TENTHS.sub(r"\1.\2", said)
    pair = _PAIR.match(said)
    may_be_time = unit is not None and unit.dimension == "time" and pair and pair[0] == said
    if pair and int(pair[2]) >= FIRST_TEN and not may_be_time:
        return f"{pair[1]}{pair[2]}{said[pair.end() :]}"
    return said


def _duration(said: str, unit: Unit) -> Fraction | None:
    length = seconds(said, bare_minutes=unit.factor == 60)
    if length is None and re.fullmatch(r"[\d.]+|[a-z ]+", said):
        length = seconds(f"{said} {unit.plural}")
    return None if length is None else Fraction(str(length)) / unit.factor


def _without_maximum(slot: Slot, said: str) -> str:
    """Remove "out of ten" if ten is the slot's maximum."""
    if slot.maximum is None:
        return said
    return re.sub(rf" (?:out )?of {slot.maximum:g}$", "", said)


def _in_unit(value: Fraction, after: str, unit: Unit | None, slot: Slot) -> Fraction | None:
    """Return the value in the slot's unit. Return None if the user named a unit that can't be
    converted to it, or if anything else follows the number."""
    name = stripped(after)
    if not name or name in (slot.unit.lower(), slot.unit.lower().removesuffix("s")):
        return value
    said = units().get(name)
    if said is None:
        if _DEGREE.search(slot.unit.lower()) and _DEGREE.fullmatch(name):
            return value
        scale = _DEGREE.search(slot.unit.lower()) and units().get(_DEGREE.sub("", name).strip())
        return value if scale and scale.dimension == "temperature" else None
    if unit is None:
        degrees = _DEGREE.search(slot.unit.lower()) and said.dimension == "temperature"
        return value if degrees or (not slot.unit and said.dimension == MONEY) else None
    if unit.dimension == said.dimension == MONEY:
        return value if unit == said else None
    made = Amount(value, said).to(unit)
    return made.value if made else None
