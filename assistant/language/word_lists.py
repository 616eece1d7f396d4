"""Sets of words, written as one string or kept as data."""

import tomllib
from functools import cache
from typing import Any

from data import located


def listed(words: str) -> tuple[str, ...]:
    """Words with spaces between."""
    return tuple(words.split())


@cache
def language_data(code: str) -> dict[str, Any]:
    """What `data/languages` has of a language, by its ISO 639-1 code.

    Raises:
        FileNotFoundError: nothing.
    """
    return tomllib.loads(located(f"languages/{code}.toml").read_text("utf-8"))


def words_of(section: str, name: str) -> frozenset[str]:
    """A list of English words."""
    return frozenset(listed(language_data("en")[section][name]))


def synonyms(*groups: str) -> dict[str, str]:
    """English words, and the one that stands for each when texts are compared."""
    same = language_data("en")["same"]
    return {
        word: usual
        for group in groups
        for usual, words in same[group].items()
        for word in listed(words)
    }
