"""Decides by rules, without a model, whether a derived text is supported by the words said, no
matter who or what wrote it.

A fact is supported if its quote is part of a statement by the user; if every content word is in
the quote, or is a day that follows from it; and if both contain the same denials. Other facts are
dropped: missing a fact costs less than inventing one.

A description is only searched, never shown, so it may use other words. But small models invent
names, and an invented name would bring up unrelated memories: so no sentence may have a name,
number or day that the sources don't have.
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
"""Stems used to phrase facts, though nobody said them. Verbs are excluded: "lives" may be the one
word that was invented."""
SAME = synonym_stems("things", "forms")
"""Stems that count as the same word."""
FEWEST_POINTING = 3
"""Minimum number of content words of a fact whose quote is like "I collect them"."""
OWN_THING = re.compile(r"\b(?i:my|our|mine|ours)\b|\w [A-Z][a-z]")
DENYING = re.compile(
    r"\b(?:not|no|never|none|neither|nor|nothing|nobody|without|anymore|hardly|barely|stopped|quit|"
    r"gave up|given up)\b"
)
_SPEAKERS = frozenset({"user", "assistant"})
"""Words by which descriptions refer to the two speakers, though nobody said them."""
_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_POSSESSIVE = re.compile(r"['’]s?$")


def is_grounded(
    text: str, quote: str, stated: Sequence[str], on: date, lexicon: TextAnalyzer
) -> bool:
    """Whether a fact is supported.

    Args:
        text: the fact.
        quote: its alleged evidence.
        stated: the user's `statements` in the same exchange, and nobody else's.
        on: the day it was said.
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
    """The stems of a text in order; words of the same meaning have the same stem."""
    return tuple(SAME.get(stem, stem) for stem in lexicon.content(text))


def without_unsupported(
    description: str, sources: Sequence[str], on: date, lexicon: TextAnalyzer
) -> str:
    """A description with days written out, without sentences that name a person, number or day not
    in the sources; "" if nothing is left.

    Args:
        sources: what was said, with the speakers' names.
        on: the day it was said.
    """
    said = " ".join(sources)
    known = lexicon.content_and_numbers(f"{said} {with_absolute_dates(said, on) or ''}") | _SPEAKERS
    every = [each.text for each in sentences(description, semicolons=True)]
    kept = " ".join(each for each in every if _names_in(each, lexicon) <= known)
    plain = " ".join(kept.split())
    return with_absolute_dates(plain, on) or plain


def _names_in(sentence: str, lexicon: TextAnalyzer) -> set[str]:
    """The numbers, and the stems of words that may be names."""
    names = filter(_may_be_name, _WORD.findall(sentence))
    stems = {stem for word in names for stem in lexicon.content(_POSSESSIVE.sub("", word))}
    every = lexicon.content_and_numbers(sentence)
    return {stem for stem in every if stem in stems or stem[0] == "#"}


def _may_be_name(word: str) -> bool:
    """Includes the first word of a sentence: if it is only a stop word, it has no stem, so it does
    no harm. Also includes words with digits or foreign letters."""
    return word[0].isupper() or not word.isascii() or any(letter.isdigit() for letter in word)
