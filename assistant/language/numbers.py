"""Recognise English number words and convert them to digits."""

import re
from collections.abc import Iterable, Sequence
from functools import cache

from assistant.language.word_lists import language_data

_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
LONGEST = 3
"""Maximum number of digits before "hundred" or "thousand"."""
_ALONE = frozenset({"one", "second"})


@cache
def cardinals() -> dict[str, int]:
    """Return the values of the words for 0 to 19 and for the tens (twenty to ninety)."""
    return _counted("units", 0, 1) | _counted("tens", 2, 10)


@cache
def scales() -> dict[str, int]:
    """Return the values of the words "hundred", "thousand" and "million"."""
    return dict(language_data("en")["numbers"]["scales"])


@cache
def ordinals() -> dict[str, int]:
    """Return the values of the ordinals from first to twentieth, and of thirtieth."""
    return _counted("ordinals", 1, 1) | _counted("ordinal_tens", 2, 10)


@cache
def numbers() -> dict[str, int]:
    """Return the values of all numbers that are written as a single word."""
    return cardinals() | scales() | ordinals()


def _counted(name: str, first: int, step: int) -> dict[str, int]:
    words = language_data("en")["numbers"][name].split()
    return {word: step * value for value, word in enumerate(words, first)}


def one_of(words: Iterable[str]) -> str:
    """Build a regular expression that matches any of these words."""
    return f"(?:{'|'.join(sorted(words, key=len, reverse=True))})"


def cardinal_words(first: int, last: int) -> str:
    """Build a regular expression that matches one-word cardinals from `first` to `last`."""
    return one_of(word for word, value in cardinals().items() if first <= value <= last)


@cache
def count_words() -> str:
    """Build a regular expression that matches the words for 1 to 99."""
    tens, ones = cardinal_words(20, 90), cardinal_words(1, 9)
    return rf"(?:{tens}(?:[ -]{ones})?|{cardinal_words(1, 19)})"


@cache
def ordinal_words() -> str:
    """Build a regular expression that matches the days of a month, from first to thirty-first."""
    first_nine = one_of(word for word, value in ordinals().items() if value < 10)
    return rf"(?:{cardinal_words(20, 30)}[ -]{first_nine}|{one_of(ordinals())})"


def number_of(text: str) -> int | None:
    """Return the value of a text that consists of a single number; otherwise None.

    Accepts e.g. `12`, `3rd`, `twenty-first` and `two hundred and six`.
    """
    made = with_digits(text.lower().replace("-", " ").split(), lone=True)
    return int(made[0]) if len(made) == 1 and made[0].isdecimal() else None


def number_word(number: int) -> str:
    """Return the words for a number from 0 to 99, and the digits of any other.

    >>> number_word(42)
    'forty-two'
    """
    if not 0 <= number <= 99:
        return str(number)
    words = {value: word for word, value in cardinals().items()}
    if number in words:
        return words[number]
    return f"{words[number // 10 * 10]}-{words[number % 10]}"


def with_digits(words: Sequence[str], *, lone: bool = False) -> list[str]:
    """Write numbers as digits: `forty three` → `43`, `4th` → `4`, `two hundred and six` → `206`.

    Args:
        words: words in lower case.
        lone: whether to convert "one" and "second" even as the last word, where they are usually
            not numbers ("that one", "wait a second").
    """
    made: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        value, end = _number(words, at)
        if end == at or (word in _ALONE and end == len(words) == at + 1 and not lone):
            ordinal = _ORDINAL.fullmatch(word)
            made.append(ordinal.group(1) if ordinal else word)
            at += 1
        else:
            made.append(str(value))
            at = end
    return made


def _number(words: Sequence[str], at: int) -> tuple[int, int]:
    """Return the number that begins at index `at`, and the index after it.

    If no number begins there, the second value is `at` itself.
    """
    total, end, below, start = 0, at, 0, at
    while (group := _below_thousand(words, start)) is not None:
        value, after = group
        ranks = words[start] in ordinals()  # "the first thousand"
        scale = 1 if ranks or after == len(words) else scales().get(words[after], 1)
        value, after = value * scale, after + (scale > 1)
        if below and not 0 < value < below:  # another number
            break
        total, end, below = total + value, after, scale
        if scale == 1:
            break
        start = after + (words[after : after + 1] == ["and"])
    return total, end


def _below_thousand(words: Sequence[str], at: int) -> tuple[int, int] | None:
    """Parse the number before "thousand" or "million", e.g. "two hundred and six".

    A scale word without a number, e.g. "hundred", means one hundred. After digits, such a word is
    not parsed, because "2.5 million" is not 2.5 and a million.
    """
    word = words[at] if at < len(words) else ""
    counted = words[at + 1 : at + 2]
    if word in scales():
        if at and words[at - 1][-1:].isdigit():
            return None
        head, end = 1, at
    elif word.isdecimal() and counted and counted[0] in scales() and len(word) <= LONGEST:
        head, end = int(word), at + 1
    else:
        found = _below_hundred(words, at)
        if found is None or words[found[1] - 1] in ordinals():
            return found
        head, end = found
    if head >= 100 or words[end : end + 1] != ["hundred"]:
        return head, end
    value, end = 100 * head, end + 1
    rest = _below_hundred(words, end + (words[end : end + 1] == ["and"]))
    if rest is not None and rest[0] and words[rest[1] : rest[1] + 1] != ["hundred"]:
        return value + rest[0], rest[1]
    return value, end


def _below_hundred(words: Sequence[str], at: int) -> tuple[int, int] | None:
    """Parse a number below a hundred that is written in words."""
    word = words[at] if at < len(words) else ""
    value = cardinals().get(word, ordinals().get(word))
    if value is None:
        return None
    ones = numbers().get(words[at + 1], 0) if at + 1 < len(words) else 0
    if word in cardinals() and value >= 20 and 0 < ones < 10:
        return value + ones, at + 2
    return value, at + 1
