"""Determines what else is deleted with forgotten exchanges, and what must change."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assistant.memory.curation.merges import without_tellings
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.transcript import fact_rows
from assistant.memory.transcript.database import Transcript

QUOTED = 8
"""Shortest text, in characters, that is looked for within other memories' contexts."""


@dataclass(frozen=True, slots=True)
class Cascade:
    """`deleted` are the memories to delete, `changed` those to write. A memory that loses its words
    but was also said elsewhere is in both, under two ids; `ids` are the ids that are gone
    altogether. `named` are the deleted memories that the request itself meant; `staying` are the
    ids of exchanges that are not deleted although memories in `named` were based on them."""

    deleted: Sequence[Memory]
    changed: Sequence[Memory]
    ids: tuple[str, ...]
    named: Sequence[Memory]
    staying: tuple[str, ...]


def cascade(
    transcript: Transcript,
    user: str,
    everything: Mapping[str, Memory],
    ids: Iterable[str],
    exchanges: Collection[str],
) -> Cascade:
    """Determine what is deleted or changed together with these memories and exchanges.

    Args:
        everything: all of the user's memories by id.
        ids: of memories to delete; missing ones are ignored.
        exchanges: those that are deleted from the transcript.

    Raises:
        StoreError: the transcript can't be read.
    """
    going = frozenset(exchanges)
    named = _named(everything, ids, going)
    gone = {memory.id: memory for memory in named}
    gone |= {
        memory.id: memory
        for memory in everything.values()
        if (memory.sources and going.issuperset(memory.sources)) or _sums_up(memory, going)
    }
    left = [memory for memory in everything.values() if memory.id not in gone]
    after = _retold(left, going, transcript, user)
    others = {key: new for key, new in after.items() if new is None or new.id != key}
    gone |= {key: everything[key] for key in others}
    new_ids = {key: new.id for key, new in others.items() if new is not None}
    texts = {memory.text for memory in gone.values()}
    texts -= {new.text for new in after.values() if new is not None}
    staying = [(memory, after.get(memory.id, memory)) for memory in left]
    quoting = _quoting({kept.context for _, kept in staying if kept is not None}, texts)
    changed = [
        new
        for memory, kept in staying
        if kept is not None and (new := _without(kept, gone, going, quoting, new_ids)) != memory
    ]
    ids_gone = tuple(key for key in gone if key not in new_ids)
    sources = {source for each in named for source in each.sources} - {ADDED_BY_USER}
    return Cascade(list(gone.values()), changed, ids_gone, named, tuple(sorted(sources - going)))


def _named(
    everything: Mapping[str, Memory], ids: Iterable[str], going: frozenset[str]
) -> list[Memory]:
    """The memories with these ids, except quotes that were also said in a remaining exchange."""
    found = (everything[key] for key in ids if key in everything)
    return [
        memory
        for memory in found
        if memory.kind is not MemoryKind.EXCHANGE or going.issuperset(memory.sources)
    ]


def _sums_up(memory: Memory, exchanges: frozenset[str]) -> bool:
    """A summary is deleted with any one of its exchanges, since it is unknown which words came from
    which exchange. It is written again without that exchange."""
    return memory.kind is MemoryKind.SUMMARY and not exchanges.isdisjoint(memory.sources)


def _retold(
    memories: Iterable[Memory], going: frozenset[str], transcript: Transcript, user: str
) -> dict[str, Memory | None]:
    """Memories said several times that were also said in deleted exchanges, by id: each as the
    remaining exchanges leave it, or None."""
    hit = [
        memory
        for memory in memories
        if memory.refreshed is not None and not going.isdisjoint(memory.sources)
    ]
    others = {key for memory in hit for key in memory.sources} - going
    found = transcript.exchanges(user, others)
    staying = {exchange.id: (conversation, exchange) for conversation, exchange in found}
    facts = fact_rows.read(transcript, user, others)
    return {memory.id: without_tellings(memory, going, staying, facts) for memory in hit}


def _quoting(contexts: Iterable[str], texts: Collection[str]) -> set[str]:
    """The contexts that equal or contain one of these texts. Most contexts are dates, and shorter
    than the texts."""
    long = sorted((text for text in texts if len(text) >= QUOTED), key=len)
    lengths = [len(text) for text in long]
    return {
        context
        for context in contexts
        if context in texts
        or any(text in context for text in long[: bisect_right(lengths, len(context))])
    }


def _without(
    memory: Memory,
    gone: Collection[str],
    exchanges: Collection[str],
    quoting: Collection[str],
    ids: Mapping[str, str],
) -> Memory:
    """A remaining memory, without its links to deleted ones; `ids` maps others' old ids to new."""
    supersedes = (ids.get(key, key) for key in memory.supersedes if key in ids or key not in gone)
    by = memory.superseded_by
    return replace(
        memory,
        context="" if memory.context in quoting else memory.context,
        sources=tuple(source for source in memory.sources if source not in exchanges),
        supersedes=tuple(supersedes),
        superseded_by=ids.get(by or "") if by in gone else by,
    )
