"""What may be said about an exchange in other words: nothing with a name, a number or a day that
its sources don't have.

A description is written by a small model, which makes things up. It is only searched, never shown;
but a made-up name would still bring up what has nothing to do with it.
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
    """The first word of a sentence may too: a stop word there has no stem, and so is known. So may
    what has digits, or is in foreign letters."""
    return word[0].isupper() or not word.isascii() or any(letter.isdigit() for letter in word)
