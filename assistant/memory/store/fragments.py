"""Counts a table's fragments: each write adds one, and each slows every query by a third of a
millisecond."""

from math import isqrt
from typing import Any

AT_MOST = 200
"""Number of fragments worth merging even during a conversation."""
IN_SILENCE = 16
"""Number of fragments worth merging between utterances in a small table. Merging takes longer the
more rows there are: 0.1 s with 2,000, seconds with 100,000."""


class Pieces:
    """The number of fragments of a table.

    Args:
        table: a LanceDB table.
    """

    def __init__(self, table: Any) -> None:
        self.joined(table)
        self._count = int(table.stats()["fragment_stats"]["num_fragments"])

    def one_more(self) -> None:
        self._count += 1

    def joined(self, table: Any) -> None:
        """They are about to be merged into one."""
        self._count = 0
        self._rows = int(table.count_rows())

    def many(self, *, in_silence: bool) -> bool:
        """Whether they should be merged."""
        most = max(IN_SILENCE, isqrt(self._rows) // 3) if in_silence else AT_MOST
        return self._count >= min(most, AT_MOST)
