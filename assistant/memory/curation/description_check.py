"""What may be said about an exchange in other words: nothing with a name, a number or a day that
its sources don't have.

A description is written by a small model, which makes things up. It is only searched, never shown;
but a made-up name would still bring up what has nothing to do with it.
"""

import re
from collections.abc import Sequence
from datetime import date

from assistant.language.absolute_dates import with_absolute_dates
from assistant.language.numbers import NUMBERS
from assistant.language.sentences import sentences
from assistant.language.stemming import TextAnalyzer

_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_TOLD_WITH = frozenset({"user", "assistant"})
"""Words in which a description speaks of the two, though nobody said them."""


def borne_out(text: str, sources: Sequence[str], on: date, lexicon: TextAnalyzer) -> str:
    """`text` without the sentences that name somebody, some number or some day that is not in the
    sources, and with its days written out; "" where nothing is left.

    Args:
        sources: what was said, with the names of who said it.
        on: the day on which it was said.
    """
    said = " ".join(sources)
    written = with_absolute_dates(said, on) or ""
    known = _folded(said, lexicon) | _folded(written, lexicon) | _TOLD_WITH
    every = [each.text for each in sentences(text, semicolons=True)]
    kept = [each for each in every if _known(each, known, lexicon)]
    told = " ".join(" ".join(kept).split())
    return with_absolute_dates(told, on) or told


def _known(sentence: str, known: set[str], lexicon: TextAnalyzer) -> bool:
    words = [_POSSESSIVE.sub("", word) for word in _WORD.findall(sentence)]
    return all(_folded(word, lexicon) <= known for word in words if _names(word))


def _names(word: str) -> bool:
    """It could be a name or a number, and the first word of a sentence too: a stop word there has
    no stem, and so is known. So could what is in foreign letters."""
    return (
        word[0].isupper()
        or any(letter.isdigit() for letter in word)
        or word.lower() in NUMBERS
        or not word.isascii()
    )


def _folded(text: str, lexicon: TextAnalyzer) -> set[str]:
    """Stems, with numbers as digits."""
    stems = set(lexicon.content(text))
    numbers = {word.lower(): NUMBERS.get(word.lower()) for word in _WORD.findall(text)}
    return (stems - _stems_of(numbers, lexicon)) | {
        str(value) for value in numbers.values() if value is not None
    }


def _stems_of(numbers: dict[str, int | None], lexicon: TextAnalyzer) -> set[str]:
    return {
        stem
        for word, value in numbers.items()
        if value is not None
        for stem in lexicon.content(word)
    }
