"""Rebuilds a user's memories from the transcript, keeping their marks."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from assistant.memory.records.ids import merged_ids
from assistant.memory.records.memory import MARKS, Memory
from assistant.memory.store.maintenance import in_order
from assistant.memory.store.repair import SAVED_AT_ONCE
from assistant.memory.store.table import MemoryTable


def rebuild_rows(table: MemoryTable, user_id: str, made: Sequence[Memory]) -> set[str]:
    """Replace the rows by what was derived from the transcript.

    Memories based on no exchange of the transcript, and those derived by others, stay: they can't
    be derived here. Duplicates left by a fault are removed; merged memories stay merged. Returns
    the ids of new ones.

    Raises:
        StoreError: the table failed. What comes from the transcript can be derived again.
    """
    before: dict[str, Memory] = {}
    twice: dict[str, Memory] = {}
    for memory in in_order(table, user_id):
        if memory.id in before:
            twice[memory.id] = memory
        before[memory.id] = memory
    merged = merged_ids(before.values()) - set(before)
    kept = {source for memory in made for source in memory.sources}
    fresh = {
        memory.id: _marked(memory, before.get(memory.id), kept)
        for memory in made
        if memory.id not in merged
    }
    changed = {key: memory for key, memory in fresh.items() if memory != before.get(key)}
    if twice:
        table.delete(user_id, twice)
    rows = list((twice | {key: fresh[key] for key in twice if key in fresh} | changed).values())
    for start in range(0, len(rows), SAVED_AT_ONCE):
        table.put(rows[start : start + SAVED_AT_ONCE])
    table.compact()
    return set(fresh) - set(before)


def _marked(memory: Memory, before: Memory | None, exchanges: Collection[str]) -> Memory:
    if before is None:
        return memory
    again = tuple(each for each in before.sources if each in exchanges)
    sources = tuple(dict.fromkeys(memory.sources + again))
    return replace(memory, **{name: getattr(before, name) for name in MARKS}, sources=sources)
