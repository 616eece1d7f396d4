"""Which memories are kept closest at hand.

    hot   as they are, of 32 bits: scored exactly, in every search
    warm  of 8 bits, scored in every search: never missed
    cold  of 8 bits, scored in a search where their signs say that they may be near

What is new, important or often used stands first. No tier forgets anything, and which one a memory
is in changes no order by more than rounding.
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
"""For what was said just now, against what is old; importance counts 1 for its whole range."""
AGE_DAYS = 30.0
"""After which half of that is left."""
USE = 0.25
"""For each doubling of how often it was used; fades since the last use."""
USE_DAYS = 90.0
PINNED = 10.0
"""More than all else together."""


class Tier(StrEnum):
    HOT = "hot"
    WARM = "warm"
    COLD = "cold"


@dataclass(frozen=True, slots=True)
class Tiers:
    """How many memories the first two tiers hold, and seconds between two times of ageing."""

    hot: int = 200
    warm: int = 500
    ageing_s: float = 300.0

    @classmethod
    def of(cls, settings: Memory) -> "Tiers":
        return cls(settings.hot_rows, settings.warm_rows, settings.ageing_s)


@dataclass(frozen=True, slots=True)
class Marks:
    """What decides where memories stand. Times: seconds since 1970; `last_used` is the time of
    making where a memory was never used."""

    created: Values
    last_used: Values
    uses: Values
    importance: Values
    pinned: NDArray[np.bool_]


def standing(marks: Marks, now: float) -> Values:
    """The higher, the closer at hand. A clock that was set back makes things from the future: they
    are new."""
    return np.asarray(
        marks.importance
        + AGE * _left(now - marks.created, AGE_DAYS)
        + USE * np.log2(1 + marks.uses) * _left(now - marks.last_used, USE_DAYS)
        + PINNED * marks.pinned
    )


def _left(seconds: Values, half_in_days: float) -> Values:
    return np.asarray(np.exp2(-np.maximum(seconds, 0.0) / (DAY_S * half_in_days)))


def assigned(marks: Marks, tiers: Tiers, now: float) -> Mapping[Tier, Rows]:
    """The positions of each tier's memories, those that stand highest first; of equals the later
    position."""
    stand = standing(marks, now)
    order = np.lexsort((-np.arange(len(stand)), -stand))
    warm_from, cold_from = tiers.hot, tiers.hot + tiers.warm
    return {
        Tier.HOT: order[:warm_from],
        Tier.WARM: order[warm_from:cold_from],
        Tier.COLD: order[cold_from:],
    }
