"""Assigns memories to tiers.

    hot   exact, 32 bits: scored exactly in every search
    warm  8 bits, scored in every search: never missed
    cold  8 bits, scored only if among the vectors whose sign bits differ least from the query's

New, important or often used memories get the better tiers. Memories of all tiers can be found. A
tier affects the order of results only through the rounding of its vectors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from assistant.memory.records.arrays import Rows, Values
from assistant.settings import Memory

DAY_S = 86_400.0
AGE = 1.0
"""Weight of a memory's newness. For comparison, importance (from 0 to 1) has weight 1."""
AGE_DAYS = 30.0
"""Days after which newness counts half as much."""
USE = 0.25
"""Weight of each doubling of the number of uses. It fades after the last use."""
USE_DAYS = 90.0
PINNED = 10.0
"""Weight of being pinned. It exceeds everything else together."""


class Tier(StrEnum):
    HOT = "hot"
    WARM = "warm"
    COLD = "cold"


@dataclass(frozen=True, slots=True)
class Tiers:
    """Number of memories in the hot and in the warm tier, and seconds between two reassignments."""

    hot: int = 200
    warm: int = 500
    ageing_s: float = 300.0

    @classmethod
    def of(cls, settings: Memory) -> "Tiers":
        return cls(settings.hot_rows, settings.warm_rows, settings.ageing_s)


@dataclass(frozen=True, slots=True)
class Marks:
    """The values that determine the tier of each memory. Times are seconds since 1970. If a memory
    was never used, `last_used` is when it was created."""

    created: Values
    last_used: Values
    uses: Values
    importance: Values
    pinned: NDArray[np.bool_]


def priority(marks: Marks, now: float) -> Values:
    """Return the priority of each memory. Those with the highest priorities get the better tiers.
    Dates in the future, which occur after a clock was set back, count as new."""
    return np.asarray(
        marks.importance
        + AGE * _left(now - marks.created, AGE_DAYS)
        + USE * np.log2(1 + marks.uses) * _left(now - marks.last_used, USE_DAYS)
        + PINNED * marks.pinned
    )


def _left(seconds: Values, half_in_days: float) -> Values:
    return np.asarray(np.exp2(-np.maximum(seconds, 0.0) / (DAY_S * half_in_days)))


def assigned(marks: Marks, tiers: Tiers, now: float) -> Mapping[Tier, Rows]:
    """Return the positions of the memories in each tier, best first. If two memories have equal
    priorities, the one at the later position counts as better."""
    values = priority(marks, now)
    order = np.lexsort((-np.arange(len(values)), -values))
    warm_from, cold_from = tiers.hot, tiers.hot + tiers.warm
    return {
        Tier.HOT: order[:warm_from],
        Tier.WARM: order[warm_from:cold_from],
        Tier.COLD: order[cold_from:],
    }
