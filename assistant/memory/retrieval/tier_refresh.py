"""Reassigns memories to tiers from time to time."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.retrieval.vectors.tiers import Tiers
from assistant.memory.store.table import MemoryTable


class TierRefresh:
    """Not thread-safe: called on the writing thread after an exchange has been stored.

    Without an exchange nothing is added, used or changed, so the tiers hardly change: no timer
    wakes the machine.

    Args:
        clock: in seconds, never set back.
    """

    def __init__(self, tiers: Tiers, clock: Callable[[], float] = time.monotonic) -> None:
        self._tiers = tiers
        self._clock = clock
        self._aged: tuple[UserIndex, float] | None = None

    def due(self, index: UserIndex) -> bool:
        """Whether the index is new, or it is time again."""
        if self._aged is None or self._aged[0] is not index:
            return True
        return self._clock() - self._aged[1] >= self._tiers.ageing_s

    def run(self, index: UserIndex, encoders: Sequence[str], table: MemoryTable) -> None:
        """Raises StoreError: the exact vectors can't be read; the tiers stay as they are.

        Args:
            encoders: the fast one and, if there is one, the stronger one.
        """
        self._aged = (index, self._clock())

        def read(encoder: str, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
            found: dict[str, NDArray[np.float32]] = {}
            for batch in table.scan(index.user_id, ("id",), (encoder,), ids):
                vectors, present = batch.vectors(encoder)
                rows = zip(batch.values("id"), vectors, present, strict=True)
                found |= {key: vector for key, vector, there in rows if there}
            return found

        there = table.encoders()
        reads = [partial(read, each) for each in takewhile(there.__contains__, encoders)]
        index.age(self._tiers, datetime.now(UTC), *reads)
