"""Decides by pure rules whether a fact is supported by the user's own words, whoever wrote the
fact.

It is if its quote is part of what the user said, as a statement; if every content word is in the
quote, or is a day that follows from it; and if both deny the same. Other facts are dropped: missing
a fact costs less than inventing one.
"""

import re
from collections.abc import Sequence
from datetime import date

from assistant.language.absolute_dates import with_absolute_dates
from assistant.language.dialogue_acts import WISHED
from assistant.language.normalisation import normalize
from assistant.language.stemming import TextAnalyzer, synonym_stems
from assistant.memory.curation.duplicates import POINTING

FRAMING = frozenset({"user", "themselv", "assist"})
"""Stems used to phrase facts, though nobody said them. No verbs: "lives" may be all that was
invented."""
SAME = synonym_stems("things", "forms")
"""Stems that count as the same word."""
FEWEST_POINTING = 3
"""Content words needed in a quote like "I collect them"."""
OWN_THING = re.compile(r"\b(?i:my|our|mine|ours)\b|\w [A-Z][a-z]")
DENYING = re.compile(
    r"\b(?:not|no|never|none|neither|nor|nothing|nobody|without|anymore|hardly|barely|stopped|quit|"
    r"gave up|given up)\b"
)


def is_grounded(
    text: str, quote: str, stated: Sequence[str], on: date, lexicon: TextAnalyzer
) -> bool:
    """Whether a fact is supported.

    Args:
        text: the fact.
        quote: its alleged evidence.
        stated: the user's `statements` there, and nobody else's.
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
    told = set(stems_in(text, lexicon))
    enough = FEWEST_POINTING if _points(quote) else 1
    return len(told - FRAMING) >= enough and told <= known


def _points(quote: str) -> bool:
    """Whether it refers to something said before, and names nothing itself."""
    return POINTING.search(quote) is not None and OWN_THING.search(quote) is None


def _is_in(quote: str, stated: Sequence[str]) -> bool:
    """Whether it is quoted word for word."""
    plain = _plain(quote)
    return bool(plain) and any(plain in _plain(each) for each in stated)


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


def _denied(text: str) -> list[str]:
    return sorted(DENYING.findall(normalize(text)))


def stems_in(text: str, lexicon: TextAnalyzer) -> tuple[str, ...]:
    """Stems in order, with one for all words of the same meaning."""
    return tuple(SAME.get(stem, stem) for stem in lexicon.content(text))
