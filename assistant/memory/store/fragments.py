"""The pieces that a table is in: each write leaves one, and each slows every query by a third of a
millisecond."""

from math import isqrt
from typing import Any

AT_MOST = 200
"""Then it is worth a moment in a conversation to join them."""
IN_SILENCE = 16
"""Then it is worth one between utterances, where there are few memories. To join them takes the
longer the more rows there are: 0.1 s with 2,000, seconds with 100,000."""


class Pieces:
    """How many there are.

    Args:
        table: LanceDB's.
    """

    def __init__(self, table: Any) -> None:
        self.joined(table)
        self._count = int(table.stats()["fragment_stats"]["num_fragments"])

    def one_more(self) -> None:
        self._count += 1

    def joined(self, table: Any) -> None:
        """They are about to be one."""
        self._count = 0
        self._rows = int(table.count_rows())

    def many(self, *, in_silence: bool) -> bool:
        """Whether they are to be joined."""
        most = max(IN_SILENCE, isqrt(self._rows) // 3) if in_silence else AT_MOST
        return self._count >= min(most, AT_MOST)
