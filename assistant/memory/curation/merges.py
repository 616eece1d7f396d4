"""Memories that were told several times: which exchange each telling was, and how one is taken out.

A memory of a turn is named after its exchange. Where it was told again, the exchanges of the other
tellings are among its sources, and the transcript has their words.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from assistant.context import Exchange
from assistant.memory.curation.materialize import materialize_exchange
from assistant.memory.records.ids import exchange_of, own_exchange, repeated
from assistant.memory.records.memory import Memory

ExchangesById = Mapping[str, tuple[str, Exchange]]
"""Exchanges by their ids, each with its conversation's."""
Derived = Mapping[str, Sequence[Mapping[str, Any] | None]]
"""Facts by their exchanges."""
KEPT = (
    *("importance", "confidence", "last_used", "uses", "feedback", "expires", "supersedes"),
    *("superseded_by", "pinned", "never_recall", "separate"),
)
"""What is of a memory, and not of its words."""


def turn_of(user_id: str, exchange: str, speaker: str, told: ExchangesById) -> Memory | None:
    """A speaker's turn of an exchange, made anew; None where the transcript has it no more."""
    if exchange not in told:
        return None
    made = materialize_exchange(user_id, *told[exchange])
    return next((memory for memory in made if memory.speaker == speaker), None)


def without_tellings(
    memory: Memory, exchanges: Collection[str], told: ExchangesById, derived: Derived
) -> Memory | None:
    """A memory that was told in several exchanges, without those of `exchanges`; told in others.

    The words, if they were of one that goes, are those of the oldest telling that stays. None where
    the transcript has none of these; and of a derived fact that the others put otherwise, which is
    derived anew of them.

    Args:
        told: the exchanges of the tellings that stay.
        derived: the facts of these.
    """
    sources = tuple(source for source in memory.sources if source not in exchanges)
    kept = replace(memory, sources=sources)
    if (fact := exchange_of(memory.id)) is not None and fact[0] in exchanges:
        elsewhere = (each for source in sources for each in derived.get(source, ()))
        if not any(each is not None and each["text"] == memory.text for each in elsewhere):
            return None
    if own_exchange(memory) in exchanges:
        turns = (turn_of(memory.user_id, each, memory.speaker, told) for each in sources)
        made = next((turn for turn in turns if turn is not None), None)
        if made is None:
            return None
        kept = replace(made, **{name: getattr(memory, name) for name in KEPT}, sources=sources)
    if memory.refreshed is None:
        return kept
    return replace(kept, refreshed=_latest(kept, told))


def _latest(memory: Memory, told: ExchangesById) -> datetime | None:
    times = [told[each][1].started for each in memory.sources if each in told]
    latest = max(times, default=memory.created)
    return latest if latest > memory.created else None


def split_tellings(memory: Memory, told: ExchangesById) -> list[Memory]:
    """A memory and its other tellings, each for itself, never to be merged again.

    Args:
        told: the exchanges of the other tellings.
    """
    others = [turn_of(memory.user_id, each, memory.speaker, told) for each in repeated(memory)]
    made = [replace(other, separate=True) for other in others if other is not None]
    known = {source for other in made for source in other.sources}
    sources = tuple(source for source in memory.sources if source not in known)
    rest = replace(memory, sources=sources, separate=True)
    return [replace(rest, refreshed=None) if made else rest, *made]


def unlinked(memory: Memory, others: Collection[str]) -> Memory:
    """A memory that neither supersedes these nor is superseded by one of them, now and later."""
    by = memory.superseded_by
    supersedes = tuple(key for key in memory.supersedes if key not in others)
    return replace(
        memory,
        supersedes=supersedes,
        superseded_by=None if by in others else by,
        separate=memory.separate or supersedes != memory.supersedes,
    )
