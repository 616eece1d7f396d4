"""Converts spoken durations to minutes: "ten minutes", "an hour and a half", "quarter of an
hour"."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assistant.language.numbers import one_of

SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
"""Number of seconds of each unit. The language's data contains the words for the units."""
LONGEST = 525_600
"""Maximum number of minutes: one year. A longer duration was probably misheard."""


@dataclass(frozen=True, slots=True)
class Durations:
    """The words and patterns for durations in one language."""

    shapes: tuple[tuple[re.Pattern[str], float], ...]
    """Each pattern, with the count that is assumed if no count is spoken."""
    numbers: Mapping[str, int]
    fractions: Mapping[str, float]
    units: Mapping[str, int]

    @classmethod
    def of(cls, data: Mapping[str, Any], numbers: Mapping[str, int]) -> "Durations":
        """Compile the patterns of a language.

        Args:
            numbers: number words. `data` adds words that recognisers tend to write instead of them.
        """
        heard = {word: int(n) for n, text in data["numbers"].items() for word in _split(text)}
        numbers = {**numbers, **heard}
        fractions = {
            word: int(n) / 60 for n, text in data["fractions"].items() for word in _split(text)
        }
        units = {
            word: SECONDS[unit] for unit, text in data["units"].items() for word in _split(text)
        }
        number, part, unit = one_of(numbers), one_of(fractions), one_of(units)
        count = rf"\d+(?:[.,]\d+)?|{number}(?: {number})?"
        and_, or_ = one_of(_split(data["and"])), one_of(_split(data["or"]))
        loose = f"(?: {one_of(_split(data['loose']))})?"
        whole = rf"(?:(?P<count>{count}) )?(?P<unit>{unit})(?: {and_} (?P<part>{part}))?"
        parted = rf"(?:(?P<count>{count}) {and_} )?(?P<part>{part})(?: {number})? (?P<unit>{unit})"
        either = rf"(?:{count}) {or_} (?P<count>{count}) (?P<unit>{unit})"
        shapes = ((whole, 1.0), (parted, 0.0), (either, 1.0))
        compiled = tuple((re.compile(shape + loose), uncounted) for shape, uncounted in shapes)
        return cls(compiled, numbers, fractions, units)

    def minutes(self, said: str) -> int | None:
        """Return the duration in whole minutes, rounded up. Return None if `said` is not a
        duration, or is longer than `LONGEST`.

        "A few" and "several" count as five. "Five or ten" counts as ten.
        """
        for shape, uncounted in self.shapes:
            found = shape.fullmatch(said)
            if found:
                return self._counted(found.groupdict(), uncounted)
        return None

    def _counted(self, groups: Mapping[str, str | None], uncounted: float) -> int | None:
        said, part = groups["count"], groups.get("part")
        count = self._number(said) if said else uncounted
        if count is None:
            return None
        count += self.fractions[part] if part else 0.0
        minutes = math.ceil(round(count * self.units[groups["unit"] or ""] / 60, 6))
        return minutes if 1 <= minutes <= LONGEST else None

    def _number(self, said: str) -> float | None:
        """Convert a number such as `ten`, `10`, `1.5` or `forty five`."""
        if said[0].isdigit():
            return float(said.replace(",", "."))
        if said in self.numbers:
            return self.numbers[said]
        tens, _, ones = (self.numbers.get(word, 0) for word in said.partition(" "))
        return tens + ones if tens >= 20 and tens % 10 == 0 and 0 < ones < 10 else None


def _split(text: str) -> list[str]:
    return [entry.strip() for entry in text.split("|")]
