"""How long memories last, and what goes with one that has expired."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from assistant.memory.naming import BY_HAND
from assistant.memory.record import USER, Kind, Memory
from assistant.settings import Memory as MemorySettings


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """What lasts how long where nothing else is said.

    Args:
        days: by kind, since the last telling or use; 0, or none, is for ever.
        below: only what is less important than this ends.
    """

    days: Mapping[Kind, int] = field(default_factory=dict)
    below: float = 0.0

    @classmethod
    def of(cls, settings: MemorySettings) -> "Lifetimes":
        facts = dict.fromkeys((Kind.FACT, Kind.PREFERENCE, Kind.PROFILE), settings.expire_fact_days)
        days = {
            Kind.EXCHANGE: settings.expire_exchange_days,
            Kind.EVENT: settings.expire_event_days,
            Kind.SUMMARY: settings.expire_summary_days,
        }
        return cls(facts | days, settings.expire_below_importance)

    def end(self, memory: Memory) -> datetime | None:
        """From when on it counts no more; None is never.

        What is pinned, marked as rightly recalled, or written down by hand doesn't end by itself.
        """
        if memory.pinned:
            return None
        if memory.expires is not None:
            return memory.expires
        days = self.days.get(memory.kind, 0)
        kept = memory.importance >= self.below or memory.feedback > 0 or BY_HAND in memory.sources
        if not days or kept:
            return None
        since = max(memory.told, memory.last_used or memory.told)
        try:
            return since + timedelta(days=days)
        except OverflowError:
            return None  # later than there are dates

    def over(self, memory: Memory, now: datetime) -> bool:
        end = self.end(memory)
        return end is not None and end <= now


@dataclass(frozen=True, slots=True)
class Outline:
    """What of a memory tells whether it rests on others."""

    id: str
    kind: Kind
    speaker: str
    sources: tuple[str, ...]
    supersedes: tuple[str, ...]
    superseded_by: str | None
    pinned: bool


OUTLINE = ("id", "kind", "speaker", "sources", "supersedes", "superseded_by", "pinned")


def resting(expired: Collection[str], all_of_them: Sequence[Outline]) -> set[str]:
    """The expired ones and what goes with them: what was derived from the user's words in them and
    from nothing else, and what they had superseded, which would seem to hold again."""
    gone = set(expired)
    while True:
        dead = {
            source
            for each in all_of_them
            if each.id in gone and each.kind is Kind.EXCHANGE and each.speaker == USER
            for source in each.sources
        }
        more = {
            each.id
            for each in all_of_them
            if each.id not in gone
            and not each.pinned
            and (each.superseded_by in gone or _derived_from(each, dead))
        }
        if not more:
            return gone
        gone |= more


def _derived_from(each: Outline, dead: Collection[str]) -> bool:
    return each.kind is not Kind.EXCHANGE and bool(each.sources) and set(each.sources) <= set(dead)
