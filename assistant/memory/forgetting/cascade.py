"""Determines what else must be deleted or changed when exchanges and memories are forgotten."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assistant.memory.curation.merges import without_tellings
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.transcript import fact_rows
from assistant.memory.transcript.database import Transcript

QUOTED = 8
"""Deleted texts with fewer characters than this are not searched for in other memories'
contexts."""


@dataclass(frozen=True, slots=True)
class Cascade:
    """The effects of a deletion.

    `deleted` are the memories to delete, and `changed` the new versions of memories to update. A
    memory that now takes its text from another exchange also gets another id, so its old version is
    in `deleted`, and the new one in `changed`. `ids` are the ids of the deleted memories that have
    no new version.
    `named` are the deleted memories that the request itself selected. `staying` are the ids of
    exchanges that remain although memories in `named` were based on them.
    """

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
    """Determine which other memories must be deleted or changed if these memories and exchanges are
    deleted.

    Args:
        everything: all of the user's memories by id.
        ids: the memories to delete. Missing ones are ignored.
        exchanges: the exchanges to delete from the transcript.

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
    """Return the memories with these ids, except verbatim memories that were also said in a
    remaining exchange.
    """
    found = (everything[key] for key in ids if key in everything)
    return [
        memory
        for memory in found
        if memory.kind is not MemoryKind.EXCHANGE or going.issuperset(memory.sources)
    ]


def _sums_up(memory: Memory, exchanges: frozenset[str]) -> bool:
    """Whether a memory is a summary of at least one of these exchanges, and so must be deleted.

    It is unknown which of its words came from which exchange. The summary is written again without
    the deleted exchanges.
    """
    return memory.kind is MemoryKind.SUMMARY and not exchanges.isdisjoint(memory.sources)


def _retold(
    memories: Iterable[Memory], going: frozenset[str], transcript: Transcript, user: str
) -> dict[str, Memory | None]:
    """Return the new versions of memories said in both deleted and remaining exchanges, by old id.

    The value is None if the memory must be deleted.
    """
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
    """Return the contexts that equal or contain one of these texts.

    Most contexts are only dates, which are shorter than the texts, so few need to be searched.
    """
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
    """Return a remaining memory without its links to deleted ones.

    Args:
        ids: maps the old ids of other changed memories to their new ids.
    """
    supersedes = (ids.get(key, key) for key in memory.supersedes if key in ids or key not in gone)
    by = memory.superseded_by
    return replace(
        memory,
        context="" if memory.context in quoting else memory.context,
        sources=tuple(source for source in memory.sources if source not in exchanges),
        supersedes=tuple(supersedes),
        superseded_by=ids.get(by or "") if by in gone else by,
    )
