"""Finds persons and their relation to the speaker in texts such as "my sister Anna", "our dog is
called Max", "Ruth is my oldest daughter". Only English texts and capitalised names are recognised.

With this index, a question about "my sister" also finds memories about Anna. A relation may have
several names: for a user with two sisters, the question finds memories about both.
"""

import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import NamedTuple

from assistant.language.calendar import MONTHS, WEEKDAYS
from assistant.language.word_lists import words_of

READ = 2_000
"""Number of characters of a text that are searched, from its start."""
MOST_NAMES = 8
"""Maximum number of names that a question is expanded with."""
LOOKED_AT = 32
"""Maximum number of names per question that are checked by `allowed`."""

PERSONS = words_of("words", "persons")
"""Words for persons that a name may directly follow, e.g. "sister". After any other word, such as
"boat", only "called NAME" and the like are recognised."""
_TITLE = r"(?:(?:Mr|Mrs|Ms|Miss|Dr|Doctor|Auntie|Aunt|Uncle)\.? )?"
_NAME = rf"{_TITLE}(?P<name>[A-Z][\w-]+)"
_WORDS = r"(?P<role>(?:[a-z][a-z-]+ ){0,2}[a-z][a-z-]+)"
_PLAIN = rf"(?P<role>(?:[a-z]+ ){{0,2}}?(?:{'|'.join(sorted(PERSONS, key=len, reverse=True))}))"
_IS = r"(?:['’]s| is| was)"
_PATTERNS = tuple(
    re.compile(each)
    for each in (
        rf"\b(?:[Mm]y|[Oo]ur|[Tt]he) {_PLAIN},? {_NAME}",
        rf"\b(?:[Mm]y|[Oo]ur) {_PLAIN}{_IS} (?:[a-z]+ )?{_NAME}",
        rf"\b{_NAME}(?:{_IS}|,) (?:my|our) {_PLAIN}\b",
        rf"\b(?:[Mm]y|[Oo]ur|[Tt]he|[Aa]n?) {_WORDS}{_IS}?,? (?:an? \w+ )?(?:called|named) {_NAME}",
        rf"\b(?:[Mm]y|[Oo]ur) {_WORDS}(?:,? (?:his|her|its)|['’]s) name{_IS} {_NAME}",
        rf"\b[Ww]e(?:['’]ve)? (?:call|called|named) (?:the|our) {_WORDS} {_NAME}",
    )
)
_NO_WORDS = "And But So The My He She It We They You Well Yes Yeah No Okay Oh Then What How"
_NO_NAMES = frozenset({*MONTHS, *WEEKDAYS, *_NO_WORDS.split()})
_CUT = re.compile(r" (?:is|was|and|or|to|in|at|on|of|with|for|from|than|that|who|the|an?)\b.*")
_HINTS = PERSONS | {"called", "named", "name", "call"}
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")


class Role(NamedTuple):
    """A person's relation to the speaker, and the person's name; each is one word in lower case."""

    role: str
    name: str


def roles(text: str) -> frozenset[Role]:
    """Return the persons whom a text mentions by relation and name. Takes a few microseconds for
    most texts."""
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
    """The relations and names mentioned in the rows of an index."""

    def __init__(self) -> None:
        self._of_row: dict[int, frozenset[Role]] = {}
        self._names: dict[str, dict[str, set[int]]] = {}
        """Relation → name → rows that mention the two together."""

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

    def named(self, text: str, allowed: Callable[[Iterable[int]], bool]) -> dict[str, float]:
        """Return the names of the persons whom a question may mention by relation, each with its
        share: 1 divided by the number of persons known by that relation. A relation is left out if
        the question itself contains the name of such a person.

        Args:
            allowed: returns whether at least one of these rows may be used for the answer.
        """
        words = _WORD.findall(text.lower())
        shares = dict[str, float]()
        for word in dict.fromkeys(words):
            names = self._names.get(word, {})
            if names.keys().isdisjoint(words):
                looked_at = islice(names.items(), LOOKED_AT)
                known = [name for name, rows in looked_at if allowed(rows)][:MOST_NAMES]
                shares |= {name: max(shares.get(name, 0.0), 1 / len(known)) for name in known}
        return shares
