""" "My sister Anna": finds people mentioned by relation and name. English and capitals only."""

import re
from typing import NamedTuple

from assistant.language.calendar import MONTHS, WEEKDAYS
from assistant.language.word_lists import words_of

READ = 2_000
"""Characters searched, from the start of a text."""


class Role(NamedTuple):
    """What somebody is to the speaker, and their name: one word each, in lower case."""

    role: str
    name: str


PERSONS = words_of("words", "persons")
"""After whom a name follows without more ado; others must be "called" something."""


_TITLE = r"(?:(?:Mr|Mrs|Ms|Miss|Dr|Doctor|Auntie|Aunt|Uncle)\.? )?"


_NAME = rf"{_TITLE}(?P<name>[A-Z][\w-]+)"


_WORDS = r"(?P<role>(?:[a-z][a-z-]+ ){0,2}[a-z][a-z-]+)"


_PLAIN = rf"(?P<role>(?:[a-z]+ ){{0,2}}?(?:{'|'.join(sorted(PERSONS, key=len, reverse=True))}))"


_IS = r"(?:['’]s| is| was)"


_CALLED = r"(?:called|named)"


_PATTERNS = tuple(
    re.compile(each)
    for each in (
        rf"\b(?:[Mm]y|[Oo]ur|[Tt]he) {_PLAIN},? {_NAME}",
        rf"\b(?:[Mm]y|[Oo]ur) {_PLAIN}{_IS} (?:[a-z]+ )?{_NAME}",
        rf"\b{_NAME}(?:{_IS}|,) (?:my|our) {_PLAIN}\b",
        rf"\b(?:[Mm]y|[Oo]ur|[Tt]he|[Aa]n?) {_WORDS}{_IS}?,? (?:an? \w+ )?{_CALLED} {_NAME}",
        rf"\b(?:[Mm]y|[Oo]ur) {_WORDS}(?:,? (?:his|her|its)|['’]s) name{_IS} {_NAME}",
        rf"\b[Ww]e(?:['’]ve)? (?:call|called|named) (?:the|our) {_WORDS} {_NAME}",
    )
)


_NO_WORDS = "And But So The My He She It We They You Well Yes Yeah No Okay Oh Then What How"


_NO_NAMES = frozenset({*MONTHS, *WEEKDAYS, *_NO_WORDS.split()})


_CUT = re.compile(r" (?:is|was|and|or|to|in|at|on|of|with|for|from|than|that|who|the|an?)\b.*")


_HINTS = PERSONS | {"called", "named", "name", "call"}


_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")


def roles(text: str) -> frozenset[Role]:
    """Who is mentioned by role and name. Most texts take a few microseconds."""
    text = text[:READ]
    if _HINTS.isdisjoint(_WORD.findall(text.lower())):
        return frozenset()
    return frozenset(
        Role(_CUT.sub("", match["role"]).split()[-1], match["name"].lower())
        for pattern in _PATTERNS
        for match in pattern.finditer(text)
        if match["name"] not in _NO_NAMES
    )
