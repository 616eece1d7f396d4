"""Deletions that are carried out although the store reports a failure, and memories that are
forgotten while a merge waits to be written."""

import asyncio
from collections.abc import Sequence

import pytest

from assistant.context.conversation import Conversation
from assistant.errors import StoreError
from assistant.memory.records.ids import fact_id
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.store.table import MemoryTable
from assistant.memory.store.tombstones import mark_of
from assistant.paths import Home
from tests.support.kept_clean import AGAIN, DAYS_AGO, SAID, USER, running, said


def failing_once_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the next deletion from a table raise an error although it is carried out."""
    delete = MemoryTable.delete

    def deleted(table: MemoryTable, user: str, ids: Sequence[str]) -> None:
        delete(table, user, ids)
        monkeypatch.setattr(MemoryTable, "delete", delete)
        raise StoreError("There is no more room on the disk.")

    monkeypatch.setattr(MemoryTable, "delete", deleted)


async def test_a_merge_that_was_written_despite_an_error_leaves_no_duplicate_in_ram(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(home, warned=True) as (memory, archive):
        first, second = said(SAID, at=DAYS_AGO), said(AGAIN)
        archive.store(Conversation.begin(USER), first)
        await memory.settled()
        failing_once_it_is_done(monkeypatch)
        archive.store(Conversation.begin(USER), second)
        await memory.settled()
        assert memory.count() == memory.table.count(USER) + 1
        archive.store(Conversation.begin(USER), said("It rains."))
        await memory.settled()
        assert memory.count() == memory.table.count(USER) == 5, "three answers, the dog, the rain"
        found, *_ = [
            m for m in (await memory.recall("the dog", 30)).memories if m.speaker == "user"
        ]
        assert found.sources == (first.id, second.id)


async def test_a_merge_that_keeps_the_newer_fact_leaves_no_duplicate_in_ram(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newer fact is kept because it says that something changed."""
    async with running(home, warned=True) as (memory, archive):
        first, second = said("Hello.", at=DAYS_AGO), said("Hello again.")
        for exchange in (first, second):
            archive.store(Conversation.begin(USER), exchange)
        await memory.settled()
        facts = [
            Memory(
                fact_id(each.id, 0), USER, MemoryKind.FACT, text, each.started, sources=(each.id,)
            )
            for each, text in (
                (first, "The user's favourite colour is blue."),
                (second, "The user's favourite colour is now blue."),
            )
        ]
        memory.put(facts[:1], told=True)
        await memory.settled()
        before = memory.count()
        failing_once_it_is_done(monkeypatch)
        memory.put(facts[1:], told=True)
        await memory.settled()
        assert memory.count() == memory.table.count(USER) + 1 == before + 1
        archive.store(Conversation.begin(USER), said("It rains."))
        await memory.settled()
        assert memory.count() == memory.table.count(USER) == before + 2, "the rain, and its answer"
        assert [m.text for m in memory.table.get(USER, [m.id for m in facts])] == [facts[1].text]


async def test_memories_deleted_despite_an_error_are_not_in_ram(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(home) as (memory, archive):
        archive.store(Conversation.begin(USER), said(SAID))
        await memory.settled()
        failing_once_it_is_done(monkeypatch)
        dog = [each for each in memory.index.outlines().values() if each.text == SAID]
        await asyncio.to_thread(memory.delete, dog)
        assert memory.count() == memory.table.count(USER) == 1


# -- forgotten meanwhile ------------------------------------------------------------------------


@pytest.mark.parametrize("gone", [0, 1], ids=["older forgotten", "newer forgotten"])
async def test_a_merge_with_a_memory_forgotten_meanwhile_keeps_the_other(
    home: Home, monkeypatch: pytest.MonkeyPatch, gone: int
) -> None:
    """Writing waits for silence, and the user says "forget that" meanwhile."""
    both = said(SAID, at=DAYS_AGO), said(AGAIN)
    update = MemoryTable.update

    def forgotten_first(table: MemoryTable, memories: Sequence[Memory]) -> int:
        monkeypatch.setattr(MemoryTable, "update", update)
        table.forgotten.write([(USER, mark_of(both[gone].id), True)])
        return update(table, memories)

    async with running(home) as (memory, archive):
        archive.store(Conversation.begin(USER), both[0])
        await memory.settled()
        monkeypatch.setattr(MemoryTable, "update", forgotten_first)
        archive.store(Conversation.begin(USER), both[1])
        await memory.settled()
        told = [each for each in memory.index.outlines().values() if each.speaker == "user"]
        in_ram = {each.sources for each in told}
        rows = memory.table.get(USER, [each.id for each in told])
        assert in_ram == {each.sources for each in rows}
        # Forgetting the older memory removes its row later; the newer one must not vanish with it.
        assert in_ram == {(each.id,) for each in (both if gone == 0 else both[:1])}
