"""Lists of words, written as strings or kept as data files."""

import tomllib
from functools import cache
from typing import Any

from data import located


def listed(words: str) -> tuple[str, ...]:
    """Split words at spaces."""
    return tuple(words.split())


@cache
def language_data(code: str) -> dict[str, Any]:
    """The contents of `data/languages` for a language, by its ISO 639-1 code.

    Raises:
        FileNotFoundError: there is no such file.
    """
    return tomllib.loads(located(f"languages/{code}.toml").read_text("utf-8"))


def words_of(section: str, name: str) -> frozenset[str]:
    """A list of English words."""
    return frozenset(listed(language_data("en")[section][name]))


def synonyms(*groups: str) -> dict[str, str]:
    """English words → the word that replaces each when texts are compared."""
    same = language_data("en")["same"]
    return {
        word: usual
        for group in groups
        for usual, words in same[group].items()
        for word in listed(words)
    }
