"""Making a user's memories anew from the transcript, what was marked on them kept."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from assistant.memory.records import serialization
from assistant.memory.records.ids import merged_ids
from assistant.memory.records.memory import MARKS, Memory
from assistant.memory.store.maintenance import in_order
from assistant.memory.store.repair import SAVED_AT_ONCE
from assistant.memory.store.table import MemoryTable


def rebuild_rows(table: MemoryTable, user_id: str, made: Sequence[Memory]) -> set[str]:
    """Write what was made of the transcript in place of what is there.

    What rests on no exchange of the transcript, and what others derived, stays: it can't be made
    again here. A memory that a fault left twice is there once afterwards; one that was told several
    times stays one. Returns the ids of those that were not there.

    Raises:
        StoreError: the table failed. What is made of the transcript can be made again.
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
        table.import_(map(serialization.to_json, rows[start : start + SAVED_AT_ONCE]))
    table.compact()
    return set(fresh) - set(before)


def _marked(memory: Memory, before: Memory | None, exchanges: Collection[str]) -> Memory:
    if before is None:
        return memory
    again = tuple(each for each in before.sources if each in exchanges)
    sources = tuple(dict.fromkeys(memory.sources + again))
    return replace(memory, **{name: getattr(before, name) for name in MARKS}, sources=sources)
