"""Decides by rules, without a model, whether the words that were said support a derived text.

A fact is supported if three conditions hold: its quote is part of a statement by the user; each of
its content words is in the quote, or belongs to a date that follows from the quote; and fact and
quote contain the same negations. Other facts are dropped, because missing a fact costs less than
inventing one.

A description of an exchange is only searched, never shown, so it may use other words. But small
models invent names, and an invented name would find unrelated memories. So a sentence is dropped if
it contains a name, number or date that the sources don't contain.
"""

import re
from collections.abc import Sequence
from datetime import date

from assistant.language.absolute_dates import with_absolute_dates
from assistant.language.dialogue_acts import WISHED
from assistant.language.normalisation import normalize
from assistant.language.sentences import sentences
from assistant.language.stemming import TextAnalyzer, synonym_stems
from assistant.memory.curation.duplicates import POINTING

FRAMING = frozenset({"user", "themselv", "assist"})
"""Stems that a fact may add to what was said, because they are needed to phrase a fact. No verbs
are among them, because e.g. "lives" may be the very word that a model invented.
"""
SAME = synonym_stems("things", "forms")
"""Maps stems to the stem of a word with the same meaning."""
FEWEST_POINTING = 3
"""Minimum number of content words in a fact whose quote refers to something else, e.g. "I collect
them".
"""
OWN_THING = re.compile(r"\b(?i:my|our|mine|ours)\b|\w [A-Z][a-z]")
DENYING = re.compile(
    r"\b(?:not|no|never|none|neither|nor|nothing|nobody|without|anymore|hardly|barely|stopped|quit|"
    r"gave up|given up)\b"
)
_SPEAKERS = frozenset({"user", "assistant"})
"""Words that descriptions use for the two speakers and that need not be in the sources."""
_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_POSSESSIVE = re.compile(r"['’]s?$")


def is_grounded(
    text: str, quote: str, stated: Sequence[str], on: date, lexicon: TextAnalyzer
) -> bool:
    """Whether a fact is supported by what the user said.

    Args:
        text: the fact.
        quote: the words that are claimed to support it.
        stated: the `statements` of the user, and of nobody else, in the same exchange.
        on: the day on which the user said this.
    """
    if not _is_in(quote, stated):
        return False
    meant = with_absolute_dates(quote, on)
    if meant is None or _denied(text) != _denied(quote):
        return False
    known = {*stems_in(quote, lexicon), *stems_in(meant, lexicon)} | FRAMING
    if WISHED.match(quote):
        known |= {"want"}
    own = set(stems_in(text, lexicon))
    enough = FEWEST_POINTING if _points(quote) else 1
    return len(own - FRAMING) >= enough and own <= known


def _points(quote: str) -> bool:
    """Whether a quote refers to something said before, and names nothing itself."""
    return POINTING.search(quote) is not None and OWN_THING.search(quote) is None


def _is_in(quote: str, stated: Sequence[str]) -> bool:
    """Whether one of the statements contains the quote word for word."""
    plain = _plain(quote)
    return bool(plain) and any(plain in _plain(each) for each in stated)


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


def _denied(text: str) -> list[str]:
    return sorted(DENYING.findall(normalize(text)))


def stems_in(text: str, lexicon: TextAnalyzer) -> tuple[str, ...]:
    """Return the stems of a text in order. Words with the same meaning get the same stem."""
    return tuple(SAME.get(stem, stem) for stem in lexicon.content(text))


def without_unsupported(
    description: str, sources: Sequence[str], on: date, lexicon: TextAnalyzer
) -> str:
    """Remove unsupported sentences from a description; return "" if none remain.

    A sentence is unsupported if it contains a name, number or date that the sources don't contain.
    In the remaining sentences, relative days are replaced by dates.

    Args:
        sources: what was said, with the speakers' names.
        on: the day on which the sources were said.
    """
    said = " ".join(sources)
    known = lexicon.content_and_numbers(f"{said} {with_absolute_dates(said, on) or ''}") | _SPEAKERS
    every = [each.text for each in sentences(description, semicolons=True)]
    kept = " ".join(each for each in every if _names_in(each, lexicon) <= known)
    plain = " ".join(kept.split())
    return with_absolute_dates(plain, on) or plain


def _names_in(sentence: str, lexicon: TextAnalyzer) -> set[str]:
    """Return the numbers in a sentence, and the stems of words that may be names."""
    names = filter(_may_be_name, _WORD.findall(sentence))
    stems = {stem for word in names for stem in lexicon.content(_POSSESSIVE.sub("", word))}
    every = lexicon.content_and_numbers(sentence)
    return {stem for stem in every if stem in stems or stem[0] == "#"}


def _may_be_name(word: str) -> bool:
    """Whether a word may be a name: it has a capital, a digit or a non-ASCII letter.

    This includes the first word of a sentence. If it is only a stop word, it has no stem, so it
    doesn't count as a name in the end.
    """
    return word[0].isupper() or not word.isascii() or any(letter.isdigit() for letter in word)
