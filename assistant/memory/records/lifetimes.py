"""Determines when memories expire."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.settings import Memory as MemorySettings


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Default lifetimes of memories.

    Args:
        days: for each kind, the number of days from the last mention or use until a memory expires.
            Memories of a kind that is missing or has 0 never expire in this way.
        below: only memories with a lower importance expire.
    """

    days: Mapping[MemoryKind, int] = field(default_factory=dict)
    below: float = 0.0

    @classmethod
    def of(cls, settings: MemorySettings) -> "Lifetimes":
        facts = dict.fromkeys(
            (MemoryKind.FACT, MemoryKind.PREFERENCE, MemoryKind.PROFILE), settings.expire_fact_days
        )
        days = {
            MemoryKind.EXCHANGE: settings.expire_exchange_days,
            MemoryKind.EVENT: settings.expire_event_days,
            MemoryKind.SUMMARY: settings.expire_summary_days,
        }
        return cls(facts | days, settings.expire_below_importance)

    def end(self, memory: Memory) -> datetime | None:
        """Return the time at which a memory expires; None if it doesn't expire.

        Pinned memories never expire. Memories that the user wrote, or rated as rightly recalled,
        expire only if they have an expiry date of their own.
        """
        if memory.pinned:
            return None
        if memory.expires is not None:
            return memory.expires
        days = self.days.get(memory.kind, 0)
        kept = (
            memory.importance >= self.below
            or memory.feedback > 0
            or ADDED_BY_USER in memory.sources
        )
        if not days or kept:
            return None
        since = max(memory.told, memory.last_used or memory.told)
        try:
            return since + timedelta(days=days)
        except OverflowError:
            return None  # beyond the last representable date

    def over(self, memory: Memory, now: datetime) -> bool:
        end = self.end(memory)
        return end is not None and end <= now
