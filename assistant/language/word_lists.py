"""Provide lists of words from `data/languages`. Each file is read when it is first used."""

import tomllib
from functools import cache
from typing import Any

from data import located


def listed(words: str) -> tuple[str, ...]:
    """Split a string at spaces."""
    return tuple(words.split())


@cache
def language_data(code: str) -> dict[str, Any]:
    """Return the contents of a language's file in `data/languages`.

    Args:
        code: ISO 639-1 code of the language.

    Raises:
        FileNotFoundError: there is no file for this language.
    """
    return tomllib.loads(located(f"languages/{code}.toml").read_text("utf-8"))


@cache
def words_of(section: str, name: str) -> frozenset[str]:
    """Return one list of English words from the language data."""
    return frozenset(language_data("en")[section][name].split())


@cache
def synonyms(*groups: str) -> dict[str, str]:
    """Map each English synonym to the word that replaces it when texts are compared."""
    same = language_data("en")["same"]
    return {
        word: usual
        for group in groups
        for usual, words in same[group].items()
        for word in words.split()
    }
