"""Tells the kind of a fact about the user from its words: who they are, what they like, what
happens at some time, or anything else."""

import re

from assistant.language.absolute_dates import past_tense
from assistant.language.calendar import MONTHS, WEEKDAYS
from assistant.language.numbers import cardinal_words
from assistant.memory.records.memory import MemoryKind

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
    """The kind of a fact.

    Args:
        text: one sentence in the third person, with its days written out.
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
