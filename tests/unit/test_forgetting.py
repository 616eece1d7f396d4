"""Forgetting with its grace time, on a real transcript and a real table."""

import asyncio
import time
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.errors import StoreError
from assistant.events import ForgettingBegan, ForgettingDone, ForgettingUndone
from assistant.memory.admin import MemoryAdmin
from assistant.memory.forgetting import receipts
from assistant.memory.forgetting.executor import done
from assistant.memory.forgetting.purge import GONE_BEFORE, make_purge
from assistant.memory.forgetting.receipts import PurgeResult, Receipt
from assistant.memory.forgetting.startup import purge_due_at_start
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.memory.turn_recall import Archive
from tests.support.desks import newest
from tests.support.forgetting import LEISURE_S, START, bench, kept
from tests.support.remains import marked

DOG = "My dog is called Max."
CAT = "My cat is called Kim."


async def test_it_is_out_of_sight_at_once_and_gone_after_the_grace_time(tmp_path: Path) -> None:
    talk = Conversation.begin("ada")
    async with bench(tmp_path, talk) as here:
        dog, _ = here.tell(DOG), here.tell(CAT)
        await here.memory.settled()
        hidden = await here.forgetting.hide([dog.id], ())
        assert await here.recalled("What is my dog called?") == {CAT}
        assert [each.user_text for each in talk.exchanges] == [CAT]
        assert here.transcript.hidden("ada") == [hidden]
        assert await here.forgetting.purge_due()
        assert here.transcript.hidden("ada") == [hidden], "there is time left"
        here.pass_time(60)
        assert await here.forgetting.purge_due()
        assert here.forgetting.hidden == ()
        assert here.transcript.hidden("ada") == []
        assert here.window.dropped == [dog.id]
        assert await here.recalled("What is my dog called?") == {CAT}
        assert DOG not in here.memory._encoder.texts()
    began, done = (
        each for each in here.events if isinstance(each, ForgettingBegan | ForgettingDone)
    )
    assert began == ForgettingBegan(
        hidden.id, tuple(hidden.exchanges), (), START + timedelta(seconds=60)
    )
    assert isinstance(done, ForgettingDone)
    assert (done.id, done.clean) == (hidden.id, True)
    assert done.files > 3
    assert done.bytes > 10_000
    assert kept(tmp_path) == ({CAT}, {CAT})


async def test_undo_brings_all_of_it_back(tmp_path: Path) -> None:
    talk = Conversation.begin("ada")
    async with bench(tmp_path, talk) as here:
        dog, _ = here.tell(DOG), here.tell(CAT)
        await here.memory.settled()
        hidden = await here.forgetting.hide([dog.id], ())
        here.pass_time(59)
        undone = await here.forgetting.undo()
        assert undone is not None
        assert (undone.items, undone.exchanges, undone.memories) == (hidden, (dog,), ())
        assert DOG in await here.recalled("What is my dog called?")
        assert [each.user_text for each in talk.exchanges] == [DOG, CAT]
        assert await here.forgetting.undo() is None
        here.pass_time(60)
        assert await here.forgetting.purge_due()
    assert ForgettingUndone(hidden.id) in here.events
    assert kept(tmp_path) == ({DOG, CAT}, {DOG, CAT})


async def test_the_last_of_several_is_undone_and_what_both_hide_stays_hidden(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog, cat = here.tell(DOG), here.tell(CAT)
        await here.memory.settled()
        await here.forgetting.hide([dog.id], ())
        await here.forgetting.hide([dog.id, cat.id], ())
        await here.forgetting.undo()
        assert await here.recalled("What is my dog called, and my cat?") == {CAT}


async def test_after_the_grace_time_nothing_comes_back(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        await here.forgetting.hide([dog.id], ())
        here.pass_time(60)
        assert await here.forgetting.undo() is None
        assert await here.recalled("What is my dog called?") == set()


async def test_a_restart_neither_shows_it_nor_ends_the_grace_time(tmp_path: Path) -> None:
    talk = Conversation.begin("ada")
    async with bench(tmp_path, talk) as here:
        dog, _ = here.tell(DOG), here.tell(CAT)
        await here.memory.settled()
        await here.forgetting.hide([dog.id], ())
    later = START + timedelta(seconds=30)
    async with bench(tmp_path, Conversation.begin("ada"), later) as again:
        assert await again.recalled("What is my dog called?") == {CAT}
        resumed = again.transcript.resume("ada", timedelta.max)
        assert resumed is not None
        assert [each.user_text for each in resumed.exchanges] == [CAT]
        await again.forgetting.undo()
        assert DOG in await again.recalled("What is my dog called?")


async def test_what_is_due_is_purged_at_the_next_start_before_anything_is_read(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog, _ = here.tell(DOG), here.tell(CAT)
        await here.memory.settled()
        await here.forgetting.hide([dog.id], ())
    later = START + timedelta(seconds=61)
    async with bench(tmp_path, Conversation.begin("ada"), later) as again:
        assert again.forgetting.hidden == ()
        assert marked(tmp_path) == {dog.id}
        assert await again.recalled("What is my dog called?") == {CAT}
    assert kept(tmp_path) == ({CAT}, {CAT})


async def test_a_clock_that_was_set_back_gives_no_more_time(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        await here.forgetting.hide([dog.id], ())
    async with bench(tmp_path, Conversation.begin("ada"), START - timedelta(days=1)) as again:
        assert await again.forgetting.undo() is None
    assert kept(tmp_path) == (set(), set())


async def test_what_rests_on_it_goes_with_it_and_a_rebuild_makes_nothing_of_it(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        fact = Memory(new_id(), "ada", MemoryKind.FACT, "The dog is Max.", START, sources=(dog.id,))
        note = Memory(new_id(), "ada", MemoryKind.FACT, "Max barks.", START, sources=("you",))
        await asyncio.to_thread(here.memory.put, [fact, note])
        await here.forgetting.hide([dog.id], [note.id])
        assert await here.recalled("What of Max the dog?") == set()
        await asyncio.to_thread(here.memory.rebuild, here.transcript)
        assert await here.recalled("What of Max the dog?") == set()
        here.pass_time(60)
        await here.forgetting.purge_due()
        await asyncio.to_thread(here.memory.rebuild, here.transcript)
        assert await here.recalled("What of Max the dog?") == set()
    assert kept(tmp_path) == (set(), set())


async def test_a_forgotten_exchange_that_comes_late_is_not_kept(tmp_path: Path) -> None:
    talk = Conversation.begin("ada")
    async with bench(tmp_path, talk) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        await here.forgetting.hide([dog.id], ())
        here.pass_time(60)
        await here.forgetting.purge_due()
        Archive(here.transcript, here.memory).store(talk, dog)
        assert await here.recalled("What is my dog called?") == set()
    assert kept(tmp_path) == (set(), set())


async def test_a_purge_that_fails_is_done_again_and_shows_nothing_meanwhile(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        real, here.forgetting._purge = here.forgetting._purge, _broken
        await here.forgetting.hide([dog.id], ())
        here.pass_time(60)
        assert not await here.forgetting.purge_due()
        assert await here.recalled("What is my dog called?") == set()
        here.forgetting._purge = real
        assert await here.forgetting.purge_due()
    assert kept(tmp_path) == (set(), set())


def _broken(_: HiddenItems) -> PurgeResult:
    raise StoreError("The disk is full.")


async def test_a_purge_that_is_done_again_does_not_claim_to_have_looked(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        hidden = await here.forgetting.hide([dog.id], ())
        first, again = [await asyncio.to_thread(here.forgetting._purge, hidden) for _ in range(2)]
    assert GONE_BEFORE not in first.receipt.unprovable
    assert GONE_BEFORE in again.receipt.unprovable
    assert [GONE_BEFORE in each["unprovable"] for each in receipts.read(tmp_path)] == [False, True]


async def test_while_the_memories_cannot_be_opened_what_is_due_stays_hidden(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog, _ = here.tell(DOG), here.tell(CAT)
        await here.memory.settled()
        hidden = await here.forgetting.hide([dog.id], ())
    in_use = MemoryTable.open(str(tmp_path / "memories"))
    later = START + timedelta(seconds=61)
    async with bench(tmp_path, Conversation.begin("ada"), later) as again:
        assert again.memory.store.table is None
        assert await again.recalled("What is my dog called, and my cat?") == {CAT}
        assert not await again.forgetting.purge_due()
        assert again.transcript.hidden("ada") == [hidden]
        assert await again.recalled("What is my dog called, and my cat?") == {CAT}
        in_use.close()
        again.memory._try_again()
        await again.memory.settled()
        assert await again.recalled("What is my dog called, and my cat?") == {CAT}
        assert await again.forgetting.purge_due()
        assert again.transcript.hidden("ada") == []
    assert kept(tmp_path) == ({CAT}, {CAT})


async def test_what_could_not_be_noted_is_hidden_all_the_same(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        here.transcript._db.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError):
            await here.forgetting.hide([dog.id], ())
        assert await here.recalled("What is my dog called?") == set()
        here.transcript._db.execute("PRAGMA query_only = OFF")
        here.pass_time(60)
        assert await here.forgetting.purge_due()
    assert kept(tmp_path) == (set(), set())


async def test_it_purges_by_itself(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        here.forgetting._grace = timedelta(seconds=0.2)
        here.forgetting._now = lambda: datetime.now(UTC)
        running = asyncio.create_task(here.forgetting.run())
        dog = here.tell(DOG)
        await here.memory.settled()
        await here.forgetting.hide([dog.id], ())
        async with asyncio.timeout(LEISURE_S):
            while here.forgetting.hidden:
                await asyncio.sleep(0.02)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    assert kept(tmp_path) == (set(), set())


async def test_nobody_is_shown_what_is_hidden(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog, _ = here.tell(DOG), here.tell(CAT)
        await here.memory.settled()
        await here.forgetting.hide([dog.id], ())
        memory, transcript = here.memory, here.transcript
        desk = MemoryAdmin("ada", memory.table, lambda: transcript, lambda: memory, memory=memory)
        listed = await asyncio.to_thread(newest, desk)
        assert sorted(each.text for each in listed) == sorted([CAT, "I see."])
        assert {row["text"] for row in desk.export()} == {CAT, "I see."}
        with pytest.raises(StoreError, match="There is no memory"):
            await asyncio.to_thread(desk.show, f"{dog.id}-user")


async def test_undo_and_purge_at_one_moment_do_not_cross(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        await here.forgetting.hide([dog.id], ())
        quickly = here.transcript.unhide

        def slowly(user: str, key: str) -> None:
            time.sleep(0.2)
            quickly(user, key)

        monkeypatch.setattr(here.transcript, "unhide", slowly)
        here.pass_time(59.9)
        undoing = asyncio.create_task(here.forgetting.undo())
        await asyncio.sleep(0.05)
        here.pass_time(0.2)
        assert await here.forgetting.purge_due()
        assert await undoing is not None
        assert DOG in await here.recalled("What is my dog called?")
    assert kept(tmp_path) == ({DOG}, {DOG})


async def test_what_is_forgotten_while_the_notes_are_read_stays_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        quickly = here.transcript.hidden

        def slowly(user: str) -> list[HiddenItems]:
            found = quickly(user)
            time.sleep(0.2)
            return found

        monkeypatch.setattr(here.transcript, "hidden", slowly)
        loading = asyncio.create_task(here.forgetting.load())
        await asyncio.sleep(0.05)
        hidden = await here.forgetting.hide([dog.id], ())
        await loading
        assert here.forgetting.hidden == (hidden,)
        assert await here.recalled("What is my dog called?") == set()


async def test_what_is_told_again_meanwhile_stays(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        await here.forgetting.hide([dog.id], [f"{dog.id}-user"])
        here.pass_time(20)
        here.tell(DOG)
        await here.memory.settled()
        assert DOG in await here.recalled("What is my dog called?")
        here.pass_time(60)
        assert await here.forgetting.purge_due()
        assert DOG in await here.recalled("What is my dog called?")
    assert kept(tmp_path) == ({DOG}, {DOG})


async def test_another_users_is_purged_at_the_start_too(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        hidden = await here.forgetting.hide([dog.id], ())
    with (
        closing(Transcript.open(tmp_path / "transcript.sqlite3")) as transcript,
        closing(MemoryTable.open(str(tmp_path / "memories"))) as table,
    ):
        told: list[tuple[str, Receipt]] = []
        purge_due_at_start(
            transcript,
            lambda: START + timedelta(days=30),
            lambda hidden, receipt: told.append((hidden.user, receipt)),
        )(table)
        assert transcript.hiding() == []
        assert [(user, receipt.exchanges) for user, receipt in told] == [("ada", 1)]
        assert done(hidden, told[0][1]).searched == told[0][1].searched
    assert kept(tmp_path) == (set(), set())


async def test_without_a_long_term_memory_its_table_is_purged_all_the_same(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
    with closing(Transcript.open(tmp_path / "transcript.sqlite3")) as transcript:
        folder = str(tmp_path / "memories")
        purge = make_purge(transcript, None, lambda: MemoryTable.open(folder))
        result = purge(HiddenItems.of("ada", [dog.id], (), START))
    assert result.receipt.clean
    assert kept(tmp_path) == (set(), set())


async def test_a_receipt_that_cannot_be_read_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "receipts.jsonl").write_bytes(b'{"at": \xff\n')
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        await here.forgetting.hide([dog.id], ())
        here.pass_time(60)
        assert await here.forgetting.purge_due()
    assert len(receipts.read(tmp_path)) == 1
