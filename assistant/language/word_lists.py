"""Lists of words in `data/languages`; each is read when it is first used."""

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


@cache
def words_of(section: str, name: str) -> frozenset[str]:
    """A list of English words."""
    return frozenset(language_data("en")[section][name].split())


@cache
def synonyms(*groups: str) -> dict[str, str]:
    """English words → the word that replaces each when texts are compared."""
    same = language_data("en")["same"]
    return {
        word: usual
        for group in groups
        for usual, words in same[group].items()
        for word in words.split()
    }
