"""Decides whether two derived facts say the same in other words: `The user's dog is called Max` and
`The user's dog's name is Max`.

The user's own words stay in their exchanges, so facts may be merged more freely than those
(`duplicates`); otherwise a fact mentioned every week would be there as often. Cautious rules for
English only: anything the newer fact adds must be a way of phrasing it.
"""

import re

from assistant.language.normalisation import content_words
from assistant.language.numbers import cardinal_words
from assistant.language.stemming import TextAnalyzer
from assistant.language.word_lists import listed
from assistant.memory.curation.conflicts import Claim, read
from assistant.memory.curation.duplicates import MOMENT, POINTING
from assistant.memory.records.ids import exchange_of
from assistant.memory.records.memory import Memory

LIKE_ENOUGH = 0.5
"""Cosine from which two facts are compared: about the same thing, in whatever words."""
OWNS = re.compile(rf"\b(?:has|have)(?: got)? (?:an?|the|no|some|\d+|{cardinal_words(2, 90)})\b")
"""`has a doctor` is not `is a doctor`."""
WAYS = frozenset(
    listed(
        "live lives living moved relocated home work works working got started found job new name"
        " call favorite drive drives driving car like likes love loves enjoy enjoys adore adores"
        " now always has"
    )
)
"""Words in which two phrasings of a claim may differ."""
_REWRITTEN = (
    (re.compile(r"\b(?:is working|works) as\b"), "is"),
    (re.compile(r"\b(?:has an allergy|has got an allergy|is allergic) to\b"), "is allergic to"),
    (re.compile(r"\b(?:bought|purchased|has bought|has purchased|got)\b"), "bought"),
)


def derived(memory: Memory) -> bool:
    """Whether it was derived from an exchange, and can be derived again."""
    return exchange_of(memory.id) is not None


def same_fact(older: Memory, newer: Memory, lexicon: TextAnalyzer) -> bool:
    """Whether both are derived facts and say the same."""
    if lexicon.language != "en" or not (derived(older) and derived(newer)):
        return False
    return same_words(older.text, newer.text, lexicon)


def same_words(older: str, newer: str, lexicon: TextAnalyzer) -> bool:
    """Whether the texts of two derived facts say the same."""
    before, after = _form(older), _form(newer)
    if before == after:
        return not any(what.search(text) for what in (MOMENT, POINTING) for text in (older, newer))
    if set(after) - set(before) - WAYS:
        return False
    one, two = _claim(older, lexicon), _claim(newer, lexicon)
    return one is not None and two is not None and _key(one) == _key(two)


def _form(text: str) -> list[str]:
    """The words that carry meaning."""
    plain = text.lower()
    for written, usual in _REWRITTEN:
        plain = written.sub(usual, plain)
    return [*content_words(plain), *(["has"] if OWNS.search(plain) else [])]


def _claim(text: str, lexicon: TextAnalyzer) -> Claim | None:
    """The text's claim, if it has exactly one."""
    found = list(read(text, lexicon))
    return found[0] if len(found) == 1 else None


def _key(claim: Claim) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    return claim.slot, claim.value, claim.holds
