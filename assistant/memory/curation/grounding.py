"""Whether a fact rests on the user's own words: pure rules, whoever wrote the fact.

It does when its quote is in what the user said, and says so as a statement; when every word that
carries something is in the quote, or is a day that follows from it; and when what is denied there
is denied here. What fails is dropped: a fact that is missed costs less than one that is made up.
"""

import re
from collections.abc import Sequence
from datetime import date

from assistant.language.absolute_dates import with_absolute_dates
from assistant.language.normalisation import normalize
from assistant.language.standing_orders import WISHED
from assistant.language.stemming import TextAnalyzer, synonym_stems
from assistant.memory.curation.duplicates import POINTING

FRAMING = frozenset({"user", "themselv", "assist"})
"""Stems in which a fact is told, though nobody said them. No verbs: "lives" may be all that was
made up."""
SAME = synonym_stems("things", "forms")
"""Stems of one and the same word."""
FEWEST_POINTING = 3
"""Words of content in "I collect them" and the like."""
OWN_THING = re.compile(r"\b(?i:my|our|mine|ours)\b|\w [A-Z][a-z]")
DENYING = re.compile(
    r"\b(?:not|no|never|none|neither|nor|nothing|nobody|without|anymore|hardly|barely|stopped|quit|"
    r"gave up|given up)\b"
)


def is_grounded(
    text: str, quote: str, stated: Sequence[str], on: date, lexicon: TextAnalyzer
) -> bool:
    """
    Args:
        text: the fact.
        quote: what it is said to rest on.
        stated: the `statements` of the user there, and of nobody else.
        on: the day on which it was said.
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
    """It leans on something that was said before, and names nothing of its own."""
    return POINTING.search(quote) is not None and OWN_THING.search(quote) is None


def _is_in(quote: str, stated: Sequence[str]) -> bool:
    """Word for word."""
    plain = _plain(quote)
    return bool(plain) and any(plain in _plain(each) for each in stated)


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


def _denied(text: str) -> list[str]:
    return sorted(DENYING.findall(normalize(text)))


def stems_in(text: str, lexicon: TextAnalyzer) -> tuple[str, ...]:
    """In their order, one for all words of a thing."""
    return tuple(SAME.get(stem, stem) for stem in lexicon.content(text))
