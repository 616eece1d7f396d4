"""Writes a spoken calculation with digits and signs, so that it can be parsed: "fifteen percent of
eighty" becomes "15 percent of 80", "two and a half squared" becomes "5/2 squared"."""

import re
from fractions import Fraction
from functools import cache

from assistant.language.numbers import number_of, ordinals, scales, with_digits

_SIGNS = (
    (r"(?<=\d),(?=\d{3}(?!\d))", ""),
    (r"([£$€]) ?(\d+(?:\.\d+)?)", r"\2 \1"),
    (r"%|\bper ?cents?\b|\bpercentage points?\b", " percent "),
    (r"(\d)['′]\s?(\d+)(?:\"|″|'')?", r"\1 foot \2"),
    (r"²", " squared "),
    (r"³", " cubed "),
    (r"√", " square root of "),
    (r"½", " half "),
    (r"¼", " quarter "),
    (r"°|º", " "),
    (r"\bkm/h\b", " kph "),
    (r"\b(?:the|an?) (?:bill|meal|price|cost) of\b", " "),
    (r"\*\*|\^", " ^ "),
    (r"[×*]|(?<=\d) ?x ?(?=\d)", " times "),
    (r"÷", " divided by "),
    (r"(?<![\d/.])(\d+) (\d{1,2})/([1-9]\d?)(?![\d/.])", r" \1 and \2_\3 "),
    (r"(?<!\^ )(?<![\d/.])(\d{1,2})/([1-9]\d?)(?![\d/.]| ?(?:squared|cubed|\^))", r" \1_\2 "),
    (r"/", " divided by "),
    (r"\+", " plus "),
    (r"−|–|(?<=[\d)]) ?- ?(?=[\d(])|(?<!\w)-(?=\d)| - ", " minus "),
    (r"[()]", r" \g<0> "),
    (r"-", " "),
    (r"(?<=\d)\.(?!\d)|(?<!\d)\.(?!\d)|[?!=:;\"]", " "),
    (r"(?<!\d)\.(?=\d)", " 0."),
    (r"(?<=\d)(?=[a-z])(?!(?:st|nd|rd|th)s?\b)", " "),
    (r",", " , "),
)
"""Replaces signs with words, in this order. A fraction's bar is written "_" until the last step."""
_FRACTIONS = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4}
_SCALES = {"billion": 10**9, "trillion": 10**12}
_NUMBER = r"\d+(?:\.\d+)?(?:_\d+)?"
_SIZE = "(million|billion|trillion|thousand|hundred)"
_JOINED = (
    (r"(\d+) point((?: \d+)+)\b", lambda m: f"{m[1]}.{m[2].replace(' ', '')}"),
    (r"\bpoint((?: \d+)+)\b", lambda m: f"0.{m[1].replace(' ', '')}"),
    (r"\b(\d+) and (?:an? |1 )?:(\d+)\b(?! of\b)", lambda m: _mixed(m[1], "1", m[2])),
    (r"\b(\d+) and (\d+) :(\d+)\b(?! of\b)", lambda m: _mixed(m[1], m[2], m[3])),
    (r"\b(\d+) and (\d+)_(\d+)\b(?! of\b)", lambda m: _mixed(m[1], m[2], m[3])),
    (r"\b(\d+) :(\d+)\b", lambda m: f"{m[1]}_{m[2]}"),
    (r"(?:\ban? )?:(\d+)\b(?: an?\b)?(?= dozen\b)", lambda m: f"1_{m[1]}"),
    (r"(?:\ban? )?:(\d+)\b", lambda m: f"1_{m[1]}"),
    (rf"\b({_NUMBER}) {_SIZE}\b", lambda m: _scaled(m[1], m[2])),
    (r"\b(?:an? )?(billion|trillion)\b", lambda m: _scaled("1", m[1])),
    (rf"\b(?:({_NUMBER}) |an? )?dozen\b(?: of\b)?", lambda m: _scaled(m[1] or "1", "dozen")),
    (rf"\b({_NUMBER}) an? (?!\d)", lambda m: f"{m[1]} "),
    (r"\ban? (?=\d)", lambda _: ""),
    (r"\b(dollars?|euros?) (?:and )?(\d\d?) cents?\b", lambda m: f"{m[1]} {m[2]}"),
    (r"(?<![._])\b(\d{1,9}) (?:p|pence|pennies)\b", lambda m: f"{int(m[1]) / 100:.2f} £"),
)  # fmt: skip
"""Rules that combine adjacent numbers. ":4" stands for the word "quarter"."""
_POWER = re.compile(r"\b(?:raised )?to the (?!power of\b)(?:power )?([a-z0-9 ]+?)(?: power)?(?= (?:"
                    r"times|plus|minus|divided|over|to)\b|$)")  # fmt: skip


def with_signs(words: str) -> str:
    """Return the words in lower case with digits for numbers. Fractions are written as "1/3"."""
    said = words.lower().replace("’", "'")
    for pattern, sign in _SIGNS:
        said = _compiled(pattern).sub(sign, said)
    said = re.sub(r"\bto the power of\b", "^", " ".join(said.split()))
    said = _POWER.sub(_ordinal_power, said)
    made = " ".join(with_digits([_fraction(each) for each in said.split()], lone=True))
    for joined, number in _JOINED:
        made = _compiled(joined).sub(number, made)
    return " ".join(made.replace("_", "/").split())


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _ordinal_power(found: re.Match[str]) -> str:
    """Write "to the tenth" as a power, too."""
    number = number_of(found[1])
    return found[0] if number is None else f"^ {number}"


@cache
def _denominators() -> dict[str, int]:
    """Map words for parts of a whole to their denominators. "Second" is left out, because it is a
    unit of time."""
    single = {word: value for word, value in ordinals().items() if value > 2}
    single |= {"hundredth": 100, "thousandth": 1000}
    return _FRACTIONS | single | {f"{word}s": value for word, value in single.items()}


def _fraction(word: str) -> str:
    """Write a word for a part of a whole as a colon and its denominator."""
    written = re.fullmatch(r"(\d+)(?:st|nd|rd|th)s?", word)
    value = int(written[1]) if written else _denominators().get(word, 0)
    if word == "second":
        return "sec"
    return f":{value}" if value else word


def _mixed(whole: str, numerator: str, denominator: str) -> str:
    if int(denominator) == 0:
        return f"{whole} and {numerator} {denominator}"
    value = int(whole) + Fraction(int(numerator), int(denominator))
    return f"{value.numerator}_{value.denominator}"


def _scaled(number: str, scale: str) -> str:
    times = {"dozen": 12, **_SCALES, **scales()}[scale]
    value = Fraction(number.replace("_", "/")) * times
    return f"{value.numerator}_{value.denominator}" if value.denominator > 1 else str(value)
