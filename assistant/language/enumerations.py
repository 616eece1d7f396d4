"""Splits enumerations such as "milk, eggs and some bread" into their parts, and joins parts."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from assistant.language.numbers import cardinals, number_word, numbers, one_of, scales
from assistant.language.word_lists import language_data, words_of

_SEPARATOR = re.compile(
    r"\s*(?:[,;](?!\d)\s*(?:and\b|plus\b)?|\b(?:as well as|and also|and then|and|plus)\b)\s*",
    re.IGNORECASE,
)
_AMPERSAND = re.compile(r"(?<=\s)&(?=\s)")
_MARKS = " .,;:!?-"
_METRIC = "(?:g|kg|ml|l|lb|oz|cl)"


def parts(text: str) -> list[str]:
    """Return the parts of an enumeration, without words that add nothing. Names and numbers that
    contain "and" are not split. If the first part says what to do, a new part begins only where the
    text again says what to do.

    >>> parts("milk, eggs and some bread")
    ['milk', 'eggs', 'bread']
    >>> parts("salt and pepper and two and a half pounds of flour")
    ['salt and pepper', 'two and a half pounds of flour']
    >>> parts("buy milk and eggs and call the dentist")
    ['buy milk and eggs', 'call the dentist']
    """
    plain = _AMPERSAND.sub("and", " ".join(text.replace("’", "'").split()))
    kept = [m.span() for whole in (_names(), _numbers()) for m in whole.finditer(plain)]
    cuts = [
        match.span()
        for match in _SEPARATOR.finditer(plain)
        if not any(start <= match.start() and match.end() <= end for start, end in kept)
    ]
    pieces = _pieces(plain, cuts)
    if pieces and names_act(bare(pieces[0])):
        cuts = [cut for cut, piece in zip(cuts, pieces[1:], strict=True) if names_act(bare(piece))]
    found = (bare(piece) for piece in _pieces(plain, cuts))
    return [each for each in found if each]


def bare(part: str) -> str:
    """Return a part of an enumeration without the words and marks around it that add nothing.

    >>> bare("um, some more milk, please.")
    'milk'
    """
    plain = part.strip(_MARKS)
    while (inner := _around().sub("", plain).strip(_MARKS)) != plain:
        plain = inner
    return "" if plain.lower() in (*_data()["leading"], *_data()["trailing"]) else plain


def names_act(part: str) -> bool:
    """Return whether a part says what to do ("call the dentist"), not what to get."""
    words = part.lower().split()
    if len(words) < 2:
        return False
    if words[0] in words_of("lists", "verbs"):
        return True
    ambiguous = words[0] in words_of("lists", "verbs_or_nouns")
    return ambiguous and words[1] in words_of("lists", "begin_thing")


def without_amount(part: str) -> str:
    """Return a part without the words for its amount.

    >>> without_amount("two pints of milk")
    'milk'
    """
    match = None if _names().match(part) else _amount().match(part)
    return part[match.end() :] if match else part


def is_amount(part: str) -> bool:
    """Return whether a part only says how much of something there is. It must begin with a number:
    "a bag" and "glasses" are things themselves.

    >>> is_amount("ten rolls"), is_amount("half a tablet"), is_amount("a tablet")
    (True, True, False)
    """
    return not _names().fullmatch(part) and _amount_alone().fullmatch(part) is not None


def joined(names: Sequence[str], word: str = "and", *, most: int | None = None) -> str:
    """Join names for speech.

    Args:
        word: stands before the last name.
        most: maximum number of names. The others are only counted.

    >>> joined(["milk", "salt and pepper", "eggs"])
    'milk, salt and pepper, and eggs'
    >>> joined(["milk", "eggs", "bread", "tea"], most=2)
    'milk, eggs, and two more'
    """
    if most is not None and len(names) > most:
        return f"{', '.join(names[:most])}, {word} {number_word(len(names) - most)} more"
    if len(names) < 2:
        return "".join(names)
    comma = "," if any(f" {word} " in each or "," in each for each in names) else ""
    return f"{', '.join(names[:-1])}{comma} {word} {names[-1]}"


def _pieces(text: str, cuts: Sequence[tuple[int, int]]) -> list[str]:
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _data() -> dict[str, Any]:
    found: dict[str, Any] = language_data("en")["lists"]
    return found


@cache
def _names() -> re.Pattern[str]:
    """Build an expression for things whose names contain "and"."""
    return re.compile(rf"\b{one_of(map(re.escape, _data()['together']))}\b", re.IGNORECASE)


@cache
def _numbers() -> re.Pattern[str]:
    """Build an expression for numbers that contain "and"."""
    number = rf"(?:{one_of(numbers())}|\d+)"
    part = r"(?:an?|one|two|three) (?:half|halves|quarters?|thirds?)\b"
    return re.compile(
        rf"\b(?:{number} and {part}|\w+ and {part}(?= of\b|\W*$)"
        rf"|(?:hundred|thousand) and {number}\b)",
        re.IGNORECASE,
    )


@cache
def _around() -> re.Pattern[str]:
    before, after = one_of(_data()["leading"]), one_of(_data()["trailing"])
    return re.compile(rf"^{before}(?![\w'-])[\s,]+|[\s,]+{after}$", re.IGNORECASE)


@cache
def _amount() -> re.Pattern[str]:
    words = words_of("lists", "amounts") | numbers().keys()
    metric = rf"[\d.,/]+(?: ?{_METRIC}\b)? "
    much = rf"(?:(?:{one_of(words)}[ -]|{metric})(?:and |of )?)"
    measure = one_of(words_of("lists", "measures"))
    return re.compile(
        rf"(?:the )?(?:{much}+(?:{measure} (?:and an? (?:half|quarter) )?(?:of )?)?|{measure} of )"
        r"(?=\S)",
        re.IGNORECASE,
    )


@cache
def _amount_alone() -> re.Pattern[str]:
    """Build an expression for a number, with or without a unit."""
    large = one_of({"dozen", *scales()})
    numeral = one_of({"half", "dozen", *cardinals(), *scales()})
    more = one_of(words_of("lists", "amounts") | cardinals().keys() | scales().keys())
    measure = one_of(words_of("lists", "measures") | words_of("forms", "measures"))
    digits = rf"\d[\d.,/]*(?: ?(?:{_METRIC}|{measure}))?"
    return re.compile(
        rf"(?:(?:a (?={large}\b))?{numeral}|{digits})(?:[ -](?:and )?{more})*"
        rf"(?:[ -]{measure}(?: and an? (?:half|quarter))?)?",
        re.IGNORECASE,
    )
