"""Checks descriptions of exchanges: they may contain no name, number or day that their sources
don't.

A small model writes descriptions, and invents things. They are only searched, never shown; but an
invented name would still bring up unrelated memories.
"""

import re
from collections.abc import Sequence
from datetime import date

from assistant.language.absolute_dates import with_absolute_dates
from assistant.language.sentences import sentences
from assistant.language.stemming import TextAnalyzer

_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_TOLD_WITH = frozenset({"user", "assistant"})
"""Words by which descriptions refer to the two speakers, though nobody said them."""


def borne_out(text: str, sources: Sequence[str], on: date, lexicon: TextAnalyzer) -> str:
    """`text` with days written out, without sentences that name a person, number or day not in the
    sources; "" if nothing is left.

    Args:
        sources: what was said, with the speakers' names.
        on: the day it was said.
    """
    said = " ".join(sources)
    written = with_absolute_dates(said, on) or ""
    known = lexicon.content_and_numbers(f"{said} {written}") | _TOLD_WITH
    every = [each.text for each in sentences(text, semicolons=True)]
    kept = [each for each in every if _known(each, known, lexicon)]
    told = " ".join(" ".join(kept).split())
    return with_absolute_dates(told, on) or told


def _known(sentence: str, known: set[str], lexicon: TextAnalyzer) -> bool:
    names = filter(_may_be_name, _WORD.findall(sentence))
    stems = {stem for word in names for stem in lexicon.content(_POSSESSIVE.sub("", word))}
    told = lexicon.content_and_numbers(sentence)
    return {stem for stem in told if stem in stems or stem[0] == "#"} <= known


def _may_be_name(word: str) -> bool:
    """Whether it may be a name. The first word of a sentence may be one too: if it is a stop word,
    it has no stem and so is known. So may words with digits or in foreign letters."""
    return word[0].isupper() or not word.isascii() or any(letter.isdigit() for letter in word)
