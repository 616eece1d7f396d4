"""Compares short answers with the lists of phrases in the language data. English only."""

import re
from functools import cache

from assistant.language.numbers import one_of, ordinals
from assistant.language.word_lists import language_data

_MARKS = ' \t.,;:!?…"“”—–-'


def plain(words: str) -> str:
    """Return words in lower case, with plain apostrophes and without punctuation marks."""
    said = words.lower().replace("’", "'")
    return " ".join(re.sub(r"[^\w' ]", " ", said).split())


def stripped(words: str) -> str:
    """Return words without punctuation marks around them, and without words that add nothing.

    >>> stripped("About fifty, or so.")
    'fifty'
    """
    said = words.replace("’", "'").strip(_MARKS)
    before, after = _edges()
    while (inner := after.sub("", before.sub("", said)).strip(_MARKS)) != said:
        said = inner
    return said


def is_phrase(words: str, name: str) -> bool:
    """Return whether words are one of the phrases of the list `name`."""
    return plain(words) in _phrases(name)


def names_rank(words: str) -> bool:
    """Return whether one of the words is an ordinal ("third", "3rd"). Ordinals number days, not
    hours."""
    return _rank().search(words) is not None


@cache
def _rank() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{one_of(ordinals())}|\d+(?:st|nd|rd|th))\b", re.IGNORECASE)


@cache
def _phrases(name: str) -> frozenset[str]:
    found: list[str] = language_data("en")["forms"][name]
    return frozenset(found)


@cache
def _edges() -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = one_of(map(re.escape, _phrases("around")))
    gap = r"[\s,.;:!?…—–-]+"
    return (
        re.compile(rf"^{words}(?:{gap}|$)(?!['’])", re.IGNORECASE),
        re.compile(rf"(?:^|{gap}){words}$", re.IGNORECASE),
    )
