"""Hiding, undoing and purging, on a real transcript and a real table."""

import asyncio
import time
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.errors import StoreError
from assistant.events import ForgettingBegan, ForgettingDone, ForgettingUndone
from assistant.memory.forgetting import receipts
from assistant.memory.forgetting.executor import ForgettingExecutor, done
from assistant.memory.forgetting.memory_access import MemoryAccess
from assistant.memory.forgetting.purge import GONE_BEFORE, purge, purge_due_at_start
from assistant.memory.forgetting.receipts import Receipt
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.memory.turn_recall import Archive
from tests.support.forgetting import START, Bench, bench, kept
from tests.support.patience import LEISURE_S
from tests.support.remains import found, marked

DOG = "My dog is called Max."
CAT = "My cat is called Kim."
WHAT = "What is my dog called?"
BOTH = "What is my dog called, and my cat?"


# -- in one session -----------------------------------------------------------------------------


async def test_a_forgotten_exchange_is_hidden_at_once_and_deleted_after_the_grace_time(
    tmp_path: Path,
) -> None:
    talk = Conversation.begin("ada")
    async with bench(tmp_path, talk) as here:
        dog, _ = await here.tell_all(DOG, CAT)
        hidden = await here.forgetting.hide([dog.id], ())
        assert await here.recalled(WHAT) == {CAT}
        assert [each.user_text for each in talk.exchanges] == [CAT]
        assert await here.purge_later(0)
        assert here.transcript.hidden("ada") == [hidden], "the grace time is not over"
        assert await here.purge_later(60)
        assert here.forgetting.hidden == ()
        assert here.transcript.hidden("ada") == []
        assert here.window.dropped == [dog.id]
        assert await here.recalled(WHAT) == {CAT}
        assert DOG not in here.memory._encoder.texts()
        assert await here.forgetting.undo() is None, "there is nothing left to bring back"
    began, gone = (e for e in here.events if isinstance(e, ForgettingBegan | ForgettingDone))
    assert began == ForgettingBegan(hidden.id, (dog.id,), (), START + timedelta(seconds=60))
    assert isinstance(gone, ForgettingDone)
    [receipt] = receipts.read(tmp_path)
    assert (gone.id, gone.clean) == (hidden.id, True)
    assert [each.name for each in gone.searched] == [each["name"] for each in receipt["searched"]]
    assert gone.files == sum(each.files for each in gone.searched) == receipt["files"] > 3
    assert gone.bytes == sum(each.bytes for each in gone.searched) == receipt["bytes"] > 10_000
    assert list(gone.unprovable) == receipt["unprovable"]
    assert kept(tmp_path) == ({CAT}, {CAT})
    assert found(tmp_path, {DOG}, []) == []


async def test_undo_brings_the_whole_exchange_back(tmp_path: Path) -> None:
    talk = Conversation.begin("ada")
    async with bench(tmp_path, talk) as here:
        dog, _ = await here.tell_all(DOG, CAT)
        hidden = await here.forgetting.hide([dog.id], ())
        here.pass_time(59)
        undone = await here.forgetting.undo()
        assert undone is not None
        assert (undone.items, undone.exchanges, undone.memories) == (hidden, (dog,), ())
        assert DOG in await here.recalled(WHAT)
        assert [each.user_text for each in talk.exchanges] == [DOG, CAT]
        assert await here.forgetting.undo() is None
        assert await here.purge_later()
    assert ForgettingUndone(hidden.id) in here.events
    assert kept(tmp_path) == ({DOG, CAT}, {DOG, CAT})


async def test_undo_reverts_the_last_request_but_items_of_an_earlier_one_stay_hidden(
    here: Bench,
) -> None:
    dog, cat = await here.tell_all(DOG, CAT)
    await here.forgetting.hide([dog.id], ())
    await here.forgetting.hide([dog.id, cat.id], ())
    await here.forgetting.undo()
    assert await here.recalled(BOTH) == {CAT}


async def test_a_failed_undo_leaves_the_requests_in_their_order(
    here: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    dog, cat = await here.tell_all(DOG, CAT)
    first = await here.forgetting.hide([dog.id], ())
    second = await here.forgetting.hide([cat.id], ())

    def fails(user: str, key: str) -> None:
        raise StoreError("The disk is full.")

    with monkeypatch.context() as broken:
        broken.setattr(here.transcript, "unhide", fails)
        with pytest.raises(StoreError):
            await here.forgetting.undo(first.id)
    assert here.forgetting.hidden == (first, second)
    undone = await here.forgetting.undo()
    assert undone is not None
    assert undone.items == second


async def test_derived_memories_are_forgotten_too_and_a_rebuild_does_not_restore_them(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        [dog] = await here.tell_all(DOG)
        fact = Memory(new_id(), "ada", MemoryKind.FACT, "The dog is Max.", START, sources=(dog.id,))
        note = Memory(new_id(), "ada", MemoryKind.FACT, "Max barks.", START, sources=("you",))
        await asyncio.to_thread(here.memory.put, [fact, note])
        await here.forgetting.hide([dog.id], [note.id])
        for _ in range(2):
            assert await here.recalled("What of Max the dog?") == set()
            await asyncio.to_thread(here.memory.rebuild, here.transcript)
            assert await here.recalled("What of Max the dog?") == set()
            assert await here.purge_later()
    assert kept(tmp_path) == (set(), set())


async def test_a_forgotten_exchange_is_not_stored_if_it_arrives_late(tmp_path: Path) -> None:
    talk = Conversation.begin("ada")
    async with bench(tmp_path, talk) as here:
        [dog] = await here.tell_all(DOG)
        await here.forgetting.hide([dog.id], ())
        assert await here.purge_later()
        Archive(here.transcript, here.memory).store(talk, dog)
        assert await here.recalled(WHAT) == set()
    assert kept(tmp_path) == (set(), set())


async def test_a_statement_repeated_during_the_grace_time_is_kept(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        [dog] = await here.tell_all(DOG)
        await here.forgetting.hide([dog.id], [f"{dog.id}-user"])
        here.pass_time(20)
        await here.tell_all(DOG)
        assert DOG in await here.recalled(WHAT)
        assert await here.purge_later()
        assert DOG in await here.recalled(WHAT)
    assert kept(tmp_path) == ({DOG}, {DOG})


async def test_the_executor_purges_by_itself_after_the_grace_time(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        here.forgetting._grace = timedelta(seconds=0.2)
        here.forgetting._now = lambda: datetime.now(UTC)
        running = asyncio.create_task(here.forgetting.run())
        [dog] = await here.tell_all(DOG)
        await here.forgetting.hide([dog.id], ())
        async with asyncio.timeout(LEISURE_S):
            while here.forgetting.hidden:
                await asyncio.sleep(0.02)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    assert kept(tmp_path) == (set(), set())


async def test_requests_are_refused_while_the_assistant_shuts_down(here: Bench) -> None:
    here.forgetting._loop = asyncio.new_event_loop()
    here.forgetting._loop.close()
    with pytest.raises(StoreError, match="shutting down"):
        here.forgetting.wait_for(here.forgetting.pending())


# -- across restarts ----------------------------------------------------------------------------


async def test_a_restart_keeps_an_exchange_hidden_and_does_not_end_the_grace_time(
    tmp_path: Path,
) -> None:
    talk = Conversation.begin("ada")
    async with bench(tmp_path, talk) as here:
        dog, _ = await here.tell_all(DOG, CAT)
        await here.forgetting.hide([dog.id], ())
    async with bench(tmp_path, at=START + timedelta(seconds=30)) as again:
        assert await again.recalled(WHAT) == {CAT}
        resumed = again.transcript.resume("ada", timedelta.max)
        assert resumed is not None
        assert [each.user_text for each in resumed.exchanges] == [CAT]
        await again.forgetting.undo()
        assert DOG in await again.recalled(WHAT)


@pytest.mark.parametrize("after", [timedelta(seconds=61), timedelta(days=-1)], ids=str)
async def test_due_requests_are_purged_at_the_next_start_before_anything_is_read(
    tmp_path: Path, after: timedelta
) -> None:
    """A clock that was set back does not prolong the grace time."""
    async with bench(tmp_path) as here:
        dog, _ = await here.tell_all(DOG, CAT)
        await here.forgetting.hide([dog.id], ())
    async with bench(tmp_path, at=START + after) as again:
        assert again.forgetting.hidden == ()
        assert marked(tmp_path) == {dog.id}
        assert await again.recalled(WHAT) == {CAT}
        assert await again.forgetting.undo() is None
    assert kept(tmp_path) == ({CAT}, {CAT})


async def test_requests_of_other_users_are_purged_at_the_start_too(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        [dog] = await here.tell_all(DOG)
        hidden = await here.forgetting.hide([dog.id], ())
    with (
        closing(Transcript.open(tmp_path / "transcript.sqlite3")) as transcript,
        closing(MemoryTable.open(str(tmp_path / "memories"))) as table,
    ):
        purged: list[tuple[str, Receipt]] = []
        purge_due_at_start(
            transcript,
            table,
            now=lambda: START + timedelta(days=30),
            done=lambda hidden, receipt: purged.append((hidden.user, receipt)),
        )
        assert transcript.hiding() == []
        assert [(user, receipt.exchanges) for user, receipt in purged] == [("ada", 1)]
        assert done(hidden, purged[0][1]).searched == purged[0][1].searched
    assert kept(tmp_path) == (set(), set())


# -- what goes wrong ----------------------------------------------------------------------------


async def test_due_exchanges_stay_hidden_while_the_memories_cannot_be_opened(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        dog, _ = await here.tell_all(DOG, CAT)
        hidden = await here.forgetting.hide([dog.id], ())
    in_use = MemoryTable.open(str(tmp_path / "memories"))
    async with bench(tmp_path, at=START + timedelta(seconds=61)) as again:
        assert again.memory.store.table is None
        assert await again.recalled(BOTH) == {CAT}
        assert not await again.forgetting.purge_due()
        assert again.transcript.hidden("ada") == [hidden]
        assert await again.recalled(BOTH) == {CAT}
        in_use.close()
        again.memory._try_again()
        await again.memory.settled()
        assert await again.recalled(BOTH) == {CAT}
        assert await again.forgetting.purge_due()
        assert again.transcript.hidden("ada") == []
    assert kept(tmp_path) == ({CAT}, {CAT})


async def test_a_repeated_purge_does_not_claim_to_have_searched_for_deleted_texts(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        [dog] = await here.tell_all(DOG)
        hidden = await here.forgetting.hide([dog.id], ())
        parts = (hidden, here.transcript, here.memory.table, here.memory)
        first, again = [await asyncio.to_thread(purge, *parts) for _ in range(2)]
    assert GONE_BEFORE not in first.receipt.unprovable
    assert GONE_BEFORE in again.receipt.unprovable
    assert [GONE_BEFORE in each["unprovable"] for each in receipts.read(tmp_path)] == [False, True]


async def test_an_unreadable_receipt_does_not_stop_a_purge(tmp_path: Path) -> None:
    (tmp_path / "receipts.jsonl").write_bytes(b'{"at": \xff\n')
    async with bench(tmp_path) as here:
        [dog] = await here.tell_all(DOG)
        await here.forgetting.hide([dog.id], ())
        assert await here.purge_later()
    assert len(receipts.read(tmp_path)) == 1


async def test_with_memory_off_an_existing_table_is_purged_all_the_same(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        [dog] = await here.tell_all(DOG)
    folder = str(tmp_path / "memories")
    with closing(Transcript.open(tmp_path / "transcript.sqlite3")) as transcript:
        earlier = MemoryAccess("ada", open_earlier=lambda: MemoryTable.open(folder))
        result = await ForgettingExecutor(transcript, earlier, grace_s=0).purge_now([dog.id], ())
    assert result.receipt.clean
    assert kept(tmp_path) == (set(), set())


# -- concurrency --------------------------------------------------------------------------------


async def test_an_undo_in_progress_is_not_overtaken_by_the_purge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path) as here:
        [dog] = await here.tell_all(DOG)
        await here.forgetting.hide([dog.id], ())
        quickly = here.transcript.unhide

        def slowly(user: str, key: str) -> None:
            time.sleep(0.2)
            quickly(user, key)

        monkeypatch.setattr(here.transcript, "unhide", slowly)
        here.pass_time(59.9)
        undoing = asyncio.create_task(here.forgetting.undo())
        await asyncio.sleep(0.05)
        assert await here.purge_later(0.2)
        assert await undoing is not None
        assert DOG in await here.recalled(WHAT)
    assert kept(tmp_path) == ({DOG}, {DOG})


async def test_an_exchange_forgotten_while_the_list_is_loading_stays_forgotten(
    here: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    [dog] = await here.tell_all(DOG)
    quickly = here.transcript.hidden

    def slowly(user: str) -> list[HiddenItems]:
        read = quickly(user)
        time.sleep(0.2)
        return read

    monkeypatch.setattr(here.transcript, "hidden", slowly)
    loading = asyncio.create_task(here.forgetting.load())
    await asyncio.sleep(0.05)
    hidden = await here.forgetting.hide([dog.id], ())
    await loading
    assert here.forgetting.hidden == (hidden,)
    assert await here.recalled(WHAT) == set()


async def test_exchanges_hidden_by_another_process_are_hidden_here_too(here: Bench) -> None:
    [dog] = await here.tell_all(DOG)
    hidden = HiddenItems.of("ada", [dog.id], (), START, timedelta(minutes=1))
    here.transcript.hide(hidden)
    assert await here.forgetting.pending() == (hidden,)
    assert here.window.exchanges == ()
    assert await here.recalled(WHAT) == set()


async def test_exchanges_restored_by_another_process_are_not_purged(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        [dog] = await here.tell_all(DOG)
        hidden = await here.forgetting.hide([dog.id], ())
        here.transcript.unhide("ada", hidden.id)
        assert await here.purge_later()
        assert here.forgetting.hidden == ()
        assert DOG in await here.recalled(WHAT)
        assert not any(isinstance(each, ForgettingDone) for each in here.events)
    assert kept(tmp_path) == ({DOG}, {DOG})
