"""What goes when exchanges are forgotten, and what of the rest has to change."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assistant.memory.curation.merges import Derived, ExchangesById, without_tellings
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import Memory, MemoryKind

QUOTED = 8
"""Characters from which on a text is looked for inside of others' contexts."""


@dataclass(frozen=True, slots=True)
class Cascade:
    """`gone` are to be deleted, `changed` to be written. A memory whose words go, but which was
    told in others too, is in both, under two ids; `ids` are of what is gone altogether."""

    gone: Sequence[Memory]
    changed: Sequence[Memory]
    ids: tuple[str, ...]


def exchanges_of_turns(memories: Iterable[Memory]) -> set[str]:
    """The exchanges that verbatim memories are of."""
    return {
        source
        for memory in memories
        if memory.kind is MemoryKind.EXCHANGE
        for source in memory.sources
        if source != ADDED_BY_USER
    }


def named_memories(
    everything: Mapping[str, Memory], ids: Iterable[str], exchanges: Collection[str]
) -> list[Memory]:
    """Of these memories those that go when the exchanges do: what was told again elsewhere stays,
    as that."""
    going = set(exchanges)
    found = (everything[key] for key in ids if key in everything)
    return [
        memory
        for memory in found
        if memory.kind is not MemoryKind.EXCHANGE or going.issuperset(memory.sources)
    ]


def removal(
    everything: Mapping[str, Memory],
    chosen: Iterable[Memory],
    exchanges: Collection[str],
    told: Callable[[Collection[str]], ExchangesById],
    derived: Callable[[Collection[str]], Derived],
) -> Cascade:
    """
    Args:
        everything: all memories by their ids.
        chosen: those that are to go.
        exchanges: those that go from the transcript.
        told: reads exchanges there; derived: the facts of exchanges.
    """
    going = frozenset(exchanges)
    gone = {memory.id: memory for memory in chosen}
    gone |= {
        memory.id: memory
        for memory in everything.values()
        if (memory.sources and going.issuperset(memory.sources)) or _sums_up(memory, going)
    }
    left = [memory for memory in everything.values() if memory.id not in gone]
    after = _retold(left, exchanges, told, derived)
    others = {key: new for key, new in after.items() if new is None or new.id != key}
    gone |= {key: everything[key] for key in others}
    ids = {key: new.id for key, new in others.items() if new is not None}
    texts = {memory.text for memory in gone.values()}
    texts -= {new.text for new in after.values() if new is not None}
    staying = [(memory, after.get(memory.id, memory)) for memory in left]
    quoting = _quoting({kept.context for _, kept in staying if kept is not None}, texts)
    changed = [
        new
        for memory, kept in staying
        if kept is not None and (new := _without(kept, gone, going, quoting, ids)) != memory
    ]
    return Cascade(list(gone.values()), changed, tuple(key for key in gone if key not in ids))


def _sums_up(memory: Memory, exchanges: frozenset[str]) -> bool:
    """A summary goes with the first exchange that it rests on: nobody knows which of its words were
    from there. It is made again without it."""
    return memory.kind is MemoryKind.SUMMARY and not exchanges.isdisjoint(memory.sources)


def _retold(
    memories: Iterable[Memory],
    exchanges: Collection[str],
    told: Callable[[Collection[str]], ExchangesById],
    derived: Callable[[Collection[str]], Derived],
) -> dict[str, Memory | None]:
    """Of what was told several times, once in these exchanges: what the other tellings leave."""
    going = set(exchanges)
    hit = [
        memory
        for memory in memories
        if memory.refreshed is not None and not going.isdisjoint(memory.sources)
    ]
    others = {key for memory in hit for key in memory.sources} - going
    staying, facts = told(others), derived(others)
    return {memory.id: without_tellings(memory, going, staying, facts) for memory in hit}


def _quoting(contexts: Iterable[str], texts: Collection[str]) -> set[str]:
    """Those of the contexts that are one of these texts, or hold one. Most contexts are dates, and
    shorter than what is told."""
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
    """A memory that stays, without what it had of those that go; `ids` are others' new ones."""
    supersedes = (ids.get(key, key) for key in memory.supersedes if key in ids or key not in gone)
    by = memory.superseded_by
    return replace(
        memory,
        context="" if memory.context in quoting else memory.context,
        sources=tuple(source for source in memory.sources if source not in exchanges),
        supersedes=tuple(supersedes),
        superseded_by=ids.get(by or "") if by in gone else by,
    )
