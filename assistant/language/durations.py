"""Converts spoken durations: "ten minutes", "an hour and a half", "5 minutes and 30 seconds"."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from assistant.language.numbers import cardinals, one_of, scales, with_digits
from assistant.language.word_lists import language_data

SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
"""Number of seconds of each unit. The language's data contains the words for the units."""
LONGEST = 525_600
"""Maximum number of minutes: one year. A longer duration was probably misheard."""
LONGEST_TEXT = 16
"""Maximum number of words in a duration."""
_SMALLER = {3600: 60, 60: 1}
"""Maps a unit to the unit that is meant if a bare number follows ("an hour ten"). Both are in
seconds."""
_AROUND = re.compile(
    r"^(?:for|in|by|at|about|around|roughly|exactly|just|only|make it|say)\b"
    r"|\b(?:longer|please|long|time|timer|worth|from now|exactly)$"
    r"|\b(?:another|more|extra|additional|uh|um|er)(?= )"
)
_VAGUE = re.compile(r"\b(?:few|several|(?<=\d )to|or(?! so$))\b|^(?:minutes|hours|days|weeks)$")
"""Matches words that give no exact duration, and units in the plural without a number."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Durations:
    """The words and patterns for durations in one language."""

    shapes: tuple[tuple[re.Pattern[str], float], ...]
    """Each pattern, with the count that is assumed if no count is spoken."""
    numbers: Mapping[str, int]
    fractions: Mapping[str, float]
    units: Mapping[str, int]
    ands: frozenset[str]

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
        return cls(compiled, numbers, fractions, units, frozenset(_split(data["and"])))

    def minutes(self, said: str) -> int | None:
        """Return the duration in whole minutes, rounded up. Return None if `said` is not a
        duration, or is longer than `LONGEST`.

        "A few" and "several" count as five. "Five or ten" counts as ten.
        """
        seconds = self.seconds(said)
        return math.ceil(round(seconds / 60, 6)) if seconds is not None else None

    def seconds(self, said: str) -> float | None:
        """Return the duration in seconds. Return None if `said` is not a duration, or is longer
        than `LONGEST`. Vague numbers count as they do in `minutes`."""
        words = said.split()
        found = self._summed(words) if len(words) <= LONGEST_TEXT else None
        return found if found is not None and 0 < found <= 60 * LONGEST else None

    def _summed(self, words: list[str]) -> float | None:
        """Read one duration, or a sum in which each part is shorter than the unit before it: "an
        hour and ten minutes"."""
        whole = self._one(" ".join(words))
        if whole is not None:
            return whole
        for end in range(len(words) - 1, 0, -1):
            unit = self.units.get(words[end - 1], 0)
            if unit and (first := self._one(" ".join(words[:end]))) is not None:
                rest = words[end:]
                rest = rest[1:] if rest[0] in self.ands else rest
                more = self._rest(rest, unit)
                if more is not None and more < unit:
                    return first + more
        return None

    def _rest(self, words: list[str], unit: int) -> float | None:
        """Read the words after a unit. A bare number counts the next smaller unit: "an hour
        ten"."""
        if (
            len(words) == 1
            and unit in _SMALLER
            and (words[0].isdecimal() or words[0] in cardinals())
        ):
            return (self._number(words[0]) or 0) * _SMALLER[unit]
        return self._summed(words) if words else None

    def _one(self, said: str) -> float | None:
        for shape, uncounted in self.shapes:
            found = shape.fullmatch(said)
            if found:
                return self._counted(found.groupdict(), uncounted)
        return None

    def _counted(self, groups: Mapping[str, str | None], uncounted: float) -> float | None:
        said, part = groups["count"], groups.get("part")
        count = self._number(said) if said else uncounted
        if count is None:
            return None
        count += self.fractions[part] if part else 0.0
        return count * self.units[groups["unit"] or ""]

    def _number(self, said: str) -> float | None:
        """Convert a number such as `ten`, `10`, `1.5` or `forty five`."""
        if said[0].isdigit():
            return float(said.replace(",", "."))
        if said in self.numbers:
            return self.numbers[said]
        tens, _, ones = (self.numbers.get(word, 0) for word in said.partition(" "))
        return tens + ones if tens >= 20 and tens % 10 == 0 and 0 < ones < 10 else None


@cache
def durations(code: str) -> Durations:
    """Compile a language's words for durations. The result is cached.

    Raises:
        FileNotFoundError: there is no file for this language.
    """
    return Durations.of(language_data(code)["durations"], cardinals() | scales())


def seconds(words: str, *, bare_minutes: bool = False) -> float | None:
    """Return an English duration in seconds. Return None if the words are anything else or give no
    exact duration ("a few minutes", "five or ten minutes", "five to ten minutes").

    Args:
        bare_minutes: whether a number alone counts minutes, as in an answer to "For how long?".
    """
    said = _plain(words)
    while (rest := " ".join(_AROUND.sub("", said).split())) != said:
        said = rest
    said = re.sub(r"\ban? (?=\d)", "", said)
    if bare_minutes and _NUMBER.fullmatch(said):
        said = f"{said} minutes"
    if _VAGUE.search(said):
        return None
    return durations("en").seconds(said)


def _plain(words: str) -> str:
    """Return the words in lower case, with numbers as digits and without punctuation."""
    said = re.sub(r"(?<=\d),(?=\d{3}\b)", "", words.lower().replace("’", "'"))
    said = re.sub(r"(?<=\d) ?½| 1/2\b", " and a half", said).replace("½", "half")
    said = re.sub(r"'s\b|(?<=s)'", "", said)
    said = re.sub(r"(?<=\d)(?=[a-z])", " ", said)
    said = re.sub(r"[^\w.:' ]|\.(?!\d)|(?<!\d)\.", " ", said)
    said = re.sub(r"\bseconds?\b", "sec", said)  # not an ordinal here
    made = " ".join(with_digits(said.split(), lone=True))
    made = re.sub(r"(\d) point (\d)", r"\1.\2", made)
    return made.replace("3 quarter", "three quarter")


def _split(text: str) -> list[str]:
    return [entry.strip() for entry in text.split("|")]
