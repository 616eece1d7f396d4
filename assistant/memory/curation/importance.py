"""How important a memory is, from what became of it since it was told. No model, no words: the same
memory at the same time always weighs the same, whatever it weighed before.

    base      what it was given when it was made, or by hand
    + 0.15    for use: each doubling of the uses counts a third of it, up to 7 uses; half of it is
              left 180 days after the last use
    + 0.10    for each mark as rightly recalled, less as much for wrongly; two at most
    + 0.10    for each doubling of how often it was told; two at most
    + 0.20    where it is pinned
    - 0.15    for what nobody used, marked, pinned or told again, the older the more: half of that
              after 180 days; a third as much where it tells a name, a number or a day

In steps of 0.05, within [0, 1]. What was set by hand is never undercut, nor is what the assistant
said, which weighs little anyway; and what the user said never falls to where memories expire.
"""

import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from assistant.language.speakers import USER
from assistant.memory.curation.materialize import IMPORTANCE
from assistant.memory.records.memory import Memory, MemoryKind

USED, MOST_USES = 0.15, 7
MARKED, MOST_MARKS = 0.10, 2
TOLD, MOST_TOLD = 0.10, 2
PINNED = 0.20
FADED = 0.15
SPECIFIC = 1 / 3
"""How much of that what tells a name, a number or a day fades."""
HALF_DAYS = 180.0
STEP = 0.05
LEAST = 0.35
"""Of what the user said; by default memories expire below 0.3."""
READ = 500
"""Characters of a text, from its start, in which something specific is looked for."""
_SPECIFIC = re.compile(r"\d|(?<=[a-z,;] )[A-Z][a-z]")


@dataclass(frozen=True, slots=True)
class ImportanceRecord:
    """What is noted of a memory's importance: what it had at first (`base`), whether that was set
    by hand, and what it was given here, this time and the time before."""

    base: float
    by_hand: bool
    last: float
    now: float

    def is_own(self, importance: float) -> bool:
        """It was given here; a kill may have left the one before."""
        return any(
            math.isclose(importance, each, abs_tol=STEP / 10) for each in (self.last, self.now)
        )


def importance_record(memory: Memory, before: ImportanceRecord | None) -> ImportanceRecord:
    """What is known of its importance by now. One that was not given here was set by hand."""
    here = memory.importance
    if before is not None and before.is_own(here):
        return before
    default = IMPORTANCE[USER] if memory.speaker == USER else min(IMPORTANCE.values())
    by_hand = memory.kind is not MemoryKind.EXCHANGE or not math.isclose(
        here, default, abs_tol=STEP / 10
    )
    return ImportanceRecord(here, by_hand, here, here)


def importance_of(memory: Memory, given: ImportanceRecord, now: datetime) -> float:
    """Its importance by the rules above."""
    total = given.base + _gained(memory, now)
    if not _cared_for(memory):
        total -= _lost(memory, now)
    least = given.base if given.by_hand or memory.speaker != USER else min(LEAST, given.base)
    return min(1.0, max(least, round(total / STEP) * STEP))


def _gained(memory: Memory, now: datetime) -> float:
    used = math.log2(1 + min(memory.uses, MOST_USES)) / math.log2(1 + MOST_USES)
    marks = max(-MOST_MARKS, min(memory.feedback, MOST_MARKS))
    told = min(math.log2(max(1, len(memory.sources))), MOST_TOLD)
    fresh = _left(now, memory.last_used) if memory.last_used is not None else 0.0
    return USED * used * fresh + MARKED * marks + TOLD * told + PINNED * memory.pinned


def _cared_for(memory: Memory) -> bool:
    return bool(memory.uses or memory.feedback or memory.pinned or len(memory.sources) > 1)


def _lost(memory: Memory, now: datetime) -> float:
    share = SPECIFIC if _SPECIFIC.search(memory.text[:READ]) else 1.0
    return FADED * share * (1 - _left(now, memory.told))


def _left(now: datetime, then: datetime) -> float:
    """A clock that was set back makes things from the future: they are new."""
    days = max(0.0, (now - then) / timedelta(days=1))
    return float(0.5 ** (days / HALF_DAYS))
