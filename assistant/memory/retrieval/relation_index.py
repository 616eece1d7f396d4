"""Who is who: "my sister Anna", "our dog is called Max", "Ruth is my oldest daughter". English, and
capitalised names only.

With this, "my sister" finds what was said about Anna. A relation may have several names: for a user
with two sisters it finds what was said about both.
"""

from collections.abc import Callable, Iterable
from itertools import islice

from assistant.language.relations import _WORD, Role, roles

MOST_NAMES = 8
"""Maximum number of names for one question."""
LOOKED_AT = 32
"""Names that are checked for being allowed."""


class Roles:
    """The relations mentioned in the rows of an index."""

    def __init__(self) -> None:
        self._of_row: dict[int, frozenset[Role]] = {}
        self._names: dict[str, dict[str, set[int]]] = {}
        """Relation → name → rows that say so."""

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
        """Names of people whom a question mentions by relation, without names it already contains.

        Args:
            allowed: whether any of these rows may be used.
        """
        words = _WORD.findall(text.lower())
        known = (
            (name, rows)
            for word in dict.fromkeys(words)
            for name, rows in self._names.get(word, {}).items()
            if name not in words
        )
        return [name for name, rows in islice(known, LOOKED_AT) if allowed(rows)][:MOST_NAMES]
