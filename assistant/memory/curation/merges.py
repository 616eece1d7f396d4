"""Handles memories whose contents were said in several exchanges.

Removes some of the exchanges from such a memory, or splits it into one memory per exchange. The id
of a verbatim memory contains the id of its first exchange. If the same thing was said again in
other exchanges, these are among the memory's sources too, and the transcript has their words.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from assistant.context import Exchange
from assistant.memory.curation.materialize import materialize_exchange
from assistant.memory.records.ids import exchange_of, own_exchange, repeated
from assistant.memory.records.memory import MARKS, Memory

ExchangesById = Mapping[str, tuple[str, Exchange]]
"""Exchanges by id, each with its conversation's id."""
Derived = Mapping[str, Sequence[Mapping[str, Any] | None]]
"""Facts by the id of the exchange they are derived from."""


def _turn_of(user_id: str, exchange: str, speaker: str, by_id: ExchangesById) -> Memory | None:
    """Recreate the memory of a speaker's turn; None if the transcript no longer contains it."""
    if exchange not in by_id:
        return None
    made = materialize_exchange(user_id, *by_id[exchange])
    return next((memory for memory in made if memory.speaker == speaker), None)


def without_tellings(
    memory: Memory, exchanges: Collection[str], by_id: ExchangesById, derived: Derived
) -> Memory | None:
    """Remove some of the exchanges in which a memory was said.

    If the memory's text came from a removed exchange, the memory gets the text of the oldest
    remaining exchange. Returns None if the transcript has none of the remaining exchanges. Also
    returns None for a derived fact that the remaining exchanges phrase differently, because the
    fact will be derived from them again.

    Args:
        exchanges: the exchanges to remove.
        by_id: the remaining exchanges.
        derived: the facts of the remaining exchanges.
    """
    sources = tuple(source for source in memory.sources if source not in exchanges)
    kept = replace(memory, sources=sources)
    if (fact := exchange_of(memory.id)) is not None and fact[0] in exchanges:
        elsewhere = (each for source in sources for each in derived.get(source, ()))
        if not any(each is not None and each["text"] == memory.text for each in elsewhere):
            return None
    if own_exchange(memory) in exchanges:
        turns = (_turn_of(memory.user_id, each, memory.speaker, by_id) for each in sources)
        made = next((turn for turn in turns if turn is not None), None)
        if made is None:
            return None
        kept = replace(made, **{name: getattr(memory, name) for name in MARKS}, sources=sources)
    if memory.refreshed is None:
        return kept
    return replace(kept, refreshed=_latest(kept, by_id))


def _latest(memory: Memory, by_id: ExchangesById) -> datetime | None:
    times = [by_id[each][1].started for each in memory.sources if each in by_id]
    latest = max(times, default=memory.created)
    return latest if latest > memory.created else None


def split_tellings(memory: Memory, by_id: ExchangesById) -> list[Memory]:
    """Split a memory and its repetitions into separate memories that are never merged again.

    Args:
        by_id: the exchanges of the repetitions.
    """
    others = [_turn_of(memory.user_id, each, memory.speaker, by_id) for each in repeated(memory)]
    made = [replace(other, separate=True) for other in others if other is not None]
    known = {source for other in made for source in other.sources}
    sources = tuple(source for source in memory.sources if source not in known)
    rest = replace(memory, sources=sources, separate=True)
    return [replace(rest, refreshed=None) if made else rest, *made]


def unlinked(memory: Memory, others: Collection[str]) -> Memory:
    """Return the memory without supersession links to or from the memories in `others`."""
    by = memory.superseded_by
    supersedes = tuple(key for key in memory.supersedes if key not in others)
    return replace(
        memory,
        supersedes=supersedes,
        superseded_by=None if by in others else by,
        separate=memory.separate or supersedes != memory.supersedes,
    )
