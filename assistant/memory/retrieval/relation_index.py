"""Who is who: "my sister Anna", "our dog is called Max", "Ruth is my oldest daughter". English, and
names with a capital.

What is said of Anna is found by "my sister" so. One word stands for each side: who has two sisters
finds what was said of both.
"""

from collections.abc import Callable, Iterable
from itertools import islice

from assistant.language.relations import _WORD, Role, roles

MOST_NAMES = 8
"""Of one question."""
LOOKED_AT = 32
"""Names of whom it is looked whether they may be drawn on."""


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
