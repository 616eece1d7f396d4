"""Who is who: "my sister Anna", "our dog is called Max", "Ruth is my oldest daughter". English, and
names with a capital.

What is said of Anna is found by "my sister" so. One word stands for each side: who has two sisters
finds what was said of both.
"""

import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import NamedTuple

from assistant.context.calendar_words import MONTHS, WEEKDAYS

READ = 2_000
"""Characters of a text, from its start, that are looked through."""
MOST_NAMES = 8
LOOKED_AT = 32
"""Names of whom it is looked whether they may be drawn on."""
"""Of one question."""


class Role(NamedTuple):
    """What somebody or something is to the speaker, and what they are called; both in small
    letters, one word each."""

    role: str
    name: str


_PERSONS = (
    "sister brother mother father mum mom dad mummy daddy daughter son aunt auntie uncle cousin "
    "niece nephew gran granny grandma grandmother grandad grandpa grandfather granddaughter "
    "grandson grandchild twin stepson stepdaughter stepmother stepfather stepmum stepdad "
    "stepbrother stepsister godson goddaughter godmother godfather mother-in-law father-in-law "
    "sister-in-law brother-in-law son-in-law daughter-in-law husband wife partner fiance fiancee "
    "boyfriend girlfriend ex friend mate flatmate roommate housemate neighbour neighbor landlord "
    "landlady tenant lodger boss manager colleague coworker assistant intern teacher tutor coach "
    "trainer doctor gp dentist physio therapist nurse vet midwife carer cleaner gardener builder "
    "plumber electrician accountant lawyer solicitor hairdresser barber baker butcher mechanic "
    "babysitter nanny childminder supervisor professor mentor student client baby kid child dog "
    "puppy cat kitten hamster rabbit guinea-pig tortoise parrot budgie pony horse goldfish pet"
)
PERSONS = frozenset(_PERSONS.split())
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
    """Who is told of by role and name. Most texts take a few microseconds."""
    text = text[:READ]
    if _HINTS.isdisjoint(_WORD.findall(text.lower())):
        return frozenset()
    return frozenset(
        Role(_CUT.sub("", match["role"]).split()[-1], match["name"].lower())
        for pattern in _PATTERNS
        for match in pattern.finditer(text)
        if match["name"] not in _NO_NAMES
    )


class Roles:
    """What the rows of an index tell of who is who. Goes with its row."""

    def __init__(self) -> None:
        self._of_row: dict[int, frozenset[Role]] = {}
        self._names: dict[str, dict[str, set[int]]] = {}
        """Role → name → rows that say so."""

    def write(self, row: int, text: str) -> None:
        self.clear(row)
        found = roles(text)
        if found:
            self._of_row[row] = found
        for role, name in found:
            self._names.setdefault(role, {}).setdefault(name, set()).add(row)

    def clear(self, row: int) -> None:
        for role, name in self._of_row.pop(row, ()):
            names = self._names[role]
            names[name].discard(row)
            if not names[name]:
                del names[name]
            if not names:
                del self._names[role]

    def names(self, text: str, allowed: Callable[[Iterable[int]], bool]) -> list[str]:
        """Of those whom a question mentions by their role, without the names that stand there
        anyway.

        Args:
            allowed: whether any of these rows may be drawn on.
        """
        words = _WORD.findall(text.lower())
        known = (
            (name, rows)
            for word in dict.fromkeys(words)
            for name, rows in self._names.get(word, {}).items()
            if name not in words
        )
        return [name for name, rows in islice(known, LOOKED_AT) if allowed(rows)][:MOST_NAMES]
