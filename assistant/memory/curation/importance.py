"""Computes the importance of memories and of exchanges, without a model.

The importance of a memory depends only on its history and on the time, not on its last importance:

    base      the value it got when it was created, or the value that was set by hand
    + 0.15    for use: a third of this for 1 use, two thirds for 3 uses, all of it for 7 or more.
              The bonus halves every 180 days after the last use.
    ± 0.10    for each time it was rated as rightly recalled (+) or wrongly recalled (-); the sum
              stays within ± 0.20
    + 0.10    for each doubling of how often it was said; at most two doublings count
    + 0.20    if it is pinned
    - 0.15    if it was never used, rated, pinned or repeated. The loss grows with age, to half of
              this after 180 days. A text with a name, a number or a date loses a third as much.

The result is rounded to steps of 0.05, within [0, 1]. It never falls below a value set by hand. The
importance of the assistant's words never falls below their base, which is low anyway. The
importance of the user's words never falls below 0.35, which is above the level at which memories
expire by default.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from assistant.context import Exchange
from assistant.errors import StoreError
from assistant.language.dialogue_acts import WISHED
from assistant.language.speakers import USER
from assistant.memory.curation.materialize import IMPORTANCE
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.user_index import UserIndex

USED, MOST_USES = 0.15, 7
MARKED, MOST_MARKS = 0.10, 2
REPEATED, MOST_REPEATED = 0.10, 2
PINNED = 0.20
FADED = 0.15
SPECIFIC = 1 / 3
"""Share of `FADED` that is subtracted for a text with a name, a number or a date."""
HALF_DAYS = 180.0
STEP = 0.05
LEAST = 0.35
"""Minimum importance of the user's words. By default, memories expire below 0.3."""
READ = 500
"""Number of characters at the start of a text that are searched for a name, a number or a date."""
_SPECIFIC = re.compile(r"\d|(?<=[a-z,;] )[A-Z][a-z]")

WISH = 0.9
"""Importance of an exchange with a lasting instruction, e.g. how to answer."""
AS_SAID = 0.2
"""Importance that an exchange gets from a verbatim memory of it."""
PER_USE, COUNTED_USES = 0.1, 5
"""Importance added for each prompt that contained a memory of the exchange, and the maximum number
of prompts that count.
"""


@dataclass(frozen=True, slots=True)
class ImportanceRecord:
    """The history of a memory's importance.

    `base` is the initial value, or the value that was set by hand. `by_hand` says whether the
    importance must not fall below `base`: it was set by hand, or the memory isn't verbatim. `now`
    is the value that this module computed last, and `last` the one before.
    """

    base: float
    by_hand: bool
    last: float
    now: float

    def is_own(self, importance: float) -> bool:
        """Whether this module computed the importance, i.e. nobody set it by hand.

        A memory still has the value `last` if the program was killed before `now` was written to
        it.
        """
        return any(
            math.isclose(importance, each, abs_tol=STEP / 10) for each in (self.last, self.now)
        )


def importance_record(memory: Memory, before: ImportanceRecord | None) -> ImportanceRecord:
    """Return the record for a memory's current importance.

    A value that this module did not compute becomes the new base. It is an initial value, or it was
    set by hand.
    """
    here = memory.importance
    if before is not None and before.is_own(here):
        return before
    default = IMPORTANCE[USER] if memory.speaker == USER else min(IMPORTANCE.values())
    by_hand = memory.kind is not MemoryKind.EXCHANGE or not math.isclose(
        here, default, abs_tol=STEP / 10
    )
    return ImportanceRecord(here, by_hand, here, here)


def importance_of(memory: Memory, given: ImportanceRecord, now: datetime) -> float:
    """Compute the importance of a memory by the rules in the module's docstring."""
    total = given.base + _gained(memory, now)
    if not _cared_for(memory):
        total -= _lost(memory, now)
    least = given.base if given.by_hand or memory.speaker != USER else min(LEAST, given.base)
    return min(1.0, max(least, round(total / STEP) * STEP))


def _gained(memory: Memory, now: datetime) -> float:
    used = math.log2(1 + min(memory.uses, MOST_USES)) / math.log2(1 + MOST_USES)
    marks = max(-MOST_MARKS, min(memory.feedback, MOST_MARKS))
    repeated = min(math.log2(max(1, len(memory.sources))), MOST_REPEATED)
    fresh = _left(now, memory.last_used) if memory.last_used is not None else 0.0
    return USED * used * fresh + MARKED * marks + REPEATED * repeated + PINNED * memory.pinned


def _cared_for(memory: Memory) -> bool:
    return bool(memory.uses or memory.feedback or memory.pinned or len(memory.sources) > 1)


def _lost(memory: Memory, now: datetime) -> float:
    share = SPECIFIC if _SPECIFIC.search(memory.text[:READ]) else 1.0
    return FADED * share * (1 - _left(now, memory.told))


def _left(now: datetime, then: datetime) -> float:
    """Return the share of an effect that remains at `now`. It halves every `HALF_DAYS` days.

    A time in the future, e.g. after a clock was set back, counts as now.
    """
    days = max(0.0, (now - then) / timedelta(days=1))
    return float(0.5 ** (days / HALF_DAYS))


def importance_of_exchanges(
    exchanges: Sequence[Exchange], index: Callable[[], UserIndex]
) -> dict[str, float]:
    """Return the importance of each exchange by its id, in [0, 1].

    Reads only RAM, and takes a millisecond for a hundred exchanges.

    Args:
        index: returns the index. If it raises StoreError because the index is still loading, only
            the words of the exchanges count.
    """
    found = {e.id: WISH if WISHED.match(e.user_text.strip()) else 0.0 for e in exchanges}
    try:
        memories = index().outlines(frozenset(found)).values()
    except StoreError:
        return found
    for memory in memories:
        for source in found.keys() & set(memory.sources):
            found[source] = max(found[source], importance_to_exchange(memory))
    return found


def importance_to_exchange(memory: Memory) -> float:
    """Return the importance that a memory gives to its exchanges."""
    if memory.pinned:
        return 1.0
    if memory.kind is MemoryKind.SUMMARY:
        return 0.0
    own = AS_SAID if memory.kind is MemoryKind.EXCHANGE else memory.importance
    return min(1.0, own + PER_USE * min(memory.uses, COUNTED_USES))
