"""Determines the kind of a derived fact, and whether two facts say the same thing in different
words.

For example, `The user's dog is called Max` says the same thing as `The user's dog's name is Max`.

Facts may be merged more freely than exchanges (see `duplicates.py`), because the exchanges still
contain the user's own words. Without merging, a fact mentioned every week would be stored every
week. The rules are cautious and work for English only: the newer fact may only add words that
change the phrasing, not the meaning.
"""

import re
from dataclasses import replace

from assistant.language.absolute_dates import past_tense
from assistant.language.calendar import MONTHS, WEEKDAYS
from assistant.language.normalisation import content_words
from assistant.language.numbers import cardinal_words
from assistant.language.stemming import TextAnalyzer
from assistant.language.word_lists import listed
from assistant.memory.curation.conflicts import Claim, read
from assistant.memory.curation.duplicates import MOMENT, POINTING
from assistant.memory.records.ids import exchange_of
from assistant.memory.records.memory import Memory, MemoryKind

LIKE_ENOUGH = 0.5
"""Minimum cosine at which two facts are compared. Facts this similar are about the same thing,
however they are phrased.
"""
OWNS = re.compile(rf"\b(?:has|have)(?: got)? (?:an?|the|no|some|\d+|{cardinal_words(2, 90)})\b")
"""Matches statements of possession. Their `has` carries meaning: `has a doctor` does not mean `is a
doctor`."""
WAYS = frozenset(
    listed(
        "live lives living moved relocated home work works working got started found job new name"
        " call favorite drive drives driving car like likes love loves enjoy enjoys adore adores"
        " now always has"
    )
)
"""Words that may be in one phrasing of a claim but not in another."""
_REWRITTEN = (
    (re.compile(r"\b(?:is working|works) as\b"), "is"),
    (re.compile(r"\b(?:has an allergy|has got an allergy|is allergic) to\b"), "is allergic to"),
    (re.compile(r"\b(?:bought|purchased|has bought|has purchased|got)\b"), "bought"),
)

_AGE = rf"(?:{cardinal_words(20, 90)}(?:[- ]\w+)?|{cardinal_words(18, 19)}|[2-9]\d)"
_DATED = re.compile(
    rf"\b(?:{'|'.join(WEEKDAYS)}) \d|\b\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}"
    rf"|\bin (?:(?:{'|'.join(MONTHS)}) )?(?:19|20)\d\d\b|\bin ninety-"
)
_PREFERS = re.compile(
    r"\b(?:lik(?:es?|ed)|lov(?:es?|ed)|hat(?:es?|ed)|prefers?|favourite|favorite|enjoys?|adores?|"
    r"vegan|vegetarian|can't (?:stand|bear)|(?:doesn't|don't) (?:eat|drink|do)\b|only (?:eats?|"
    r"drinks?)|stopped (?:eating|drinking)|takes? (?:\S+ )?(?:\S+ )?(?:tea|coffee)|wants?|"
    r"(?:has|have) \w+ black|avoids?|misses|mind)\b",
    re.IGNORECASE,
)
_IS = re.compile(
    rf"\bthe user(?:'s (?:first |full |last |middle )?name\b|'s (?:pronouns?|surname|nickname|job|"
    rf"birthday|religion|mother tongue|native)\b| is (?:now |only |just |nearly )?{_AGE}\b|"
    rf" is (?-i:[A-Z])"
    r"| is an? (?!size|bit|little|big|huge|member)| is (?:from|called|known|retired|originally|"
    r"out in"
    r"|based|going by|christian|catholic|muslim|jewish|buddhist|hindu|atheist)"
    r"| (?:no longer )?lives?\b(?! with)| grew up| was born| moved to| has moved| works?\b(?! out)"
    r"| goes by| speaks\b|'s from\b)",
    re.IGNORECASE,
)
_HAPPENS = re.compile(
    r"^(?:(?:in|on|last) .+? )?the user(?: has (?:just |finally |now )?(?!no\b|got\b|never\b|"
    r"not\b|always\b"
    r"|two\b|three\b|stopped\b)\w+(?:ed|en|ade|ought|ot|one|old)\b| is (?:\w+ing) (?:(?:her|him|"
    r"them|it|the"
    r" user's) )?\w+|'s \w+ has |'s mother's left)",
    re.IGNORECASE,
)


def kind_of(text: str) -> MemoryKind:
    """Return the kind of a fact: a profile entry, a preference, an event, or a plain fact.

    Args:
        text: one sentence in the third person, with dates instead of relative days.
    """
    if _DATED.search(text):
        return MemoryKind.EVENT
    if _IS.search(text):
        return MemoryKind.PROFILE
    if _PREFERS.search(text):
        return MemoryKind.PREFERENCE
    past = re.match(r"the user (?:and \w+ )?(\w+)", text, re.IGNORECASE)
    if _HAPPENS.search(text) or (past and past_tense().fullmatch(past[1]) and past[1] != "had"):
        return MemoryKind.EVENT
    return MemoryKind.FACT


def derived(memory: Memory) -> bool:
    """Whether a memory is a fact derived from an exchange, and so can be derived again."""
    return exchange_of(memory.id) is not None


def same_fact(older: Memory, newer: Memory, lexicon: TextAnalyzer) -> bool:
    """Whether both memories are derived facts and say the same thing."""
    if lexicon.language != "en" or not (derived(older) and derived(newer)):
        return False
    return same_words(older.text, newer.text, lexicon)


def same_words(older: str, newer: str, lexicon: TextAnalyzer) -> bool:
    """Whether the texts of two derived facts say the same thing."""
    before, after = _form(older), _form(newer)
    if before == after:
        return not any(what.search(text) for what in (MOMENT, POINTING) for text in (older, newer))
    if set(after) - set(before) - WAYS:
        return False
    one, two = _claim(older, lexicon), _claim(newer, lexicon)
    return one is not None and one == two


def _form(text: str) -> list[str]:
    """Return the words of a text that carry meaning, in a uniform phrasing."""
    plain = text.lower()
    for written, usual in _REWRITTEN:
        plain = written.sub(usual, plain)
    return [*content_words(plain), *(["has"] if OWNS.search(plain) else [])]


def _claim(text: str, lexicon: TextAnalyzer) -> Claim | None:
    """Return the claim that a text makes; None if it makes none or several."""
    found = list(read(text, lexicon))
    return replace(found[0], change=False) if len(found) == 1 else None
