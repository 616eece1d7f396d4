"""Spoken commands to forget, on a real transcript, a real table and a real index."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.errors import StoreError
from assistant.events import ForgettingUndone, Latency, MemoryUsed, TurnEnded
from assistant.intents.command import Command, CommandKind
from assistant.memory.forgetting.memory_access import MemoryAccess
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from tests.support.forgetting import START, Bench, bench, kept
from tests.support.patience import LEISURE_S
from tests.support.zones import NEW_YORK, in_zone

DOG = "My dog is called Max."
CAT = "My cat is called Kim."
WHAT = "What is my dog called?"
FORGET_THAT = Command(CommandKind.FORGET_THAT)
UNDO = Command(CommandKind.UNDO)
BACK = "Brought back: your dog is called Max."
NONE_BACK = "There is nothing left to bring back."


async def ask(here: Bench, question: str, answer: str) -> str:
    """Stores an answer that is based on what is recalled; returns the exchange's id."""
    found = (await here.memory.recall(question, LEISURE_S)).memories
    used = tuple(MemoryUsed(e.id, e.text, e.score, e.speaker, said=e.created) for e in found)
    turn = here.window.talk.last_turn + 1
    here.window.talk.append_user(turn, question, here.clock[0])
    exchange = here.window.talk.complete(turn, answer, ended=here.clock[0])
    here.turns.watch(TurnEnded(turn, question, answer, False, Latency(), used))
    return exchange.id


async def test_forgetting_a_repeated_statement_also_forgets_its_first_exchange(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        [first] = await here.tell_all(DOG)
    later = START + timedelta(hours=1)
    async with bench(tmp_path, at=later) as here:
        [again] = await here.tell_all(DOG)
        [merged] = [m for m in here.memory.index.outlines().values() if m.text == DOG]
        assert set(merged.sources) == {first.id, again.id}, "said twice, stored as one memory"
        [row] = here.memory.table.get("ada", [merged.id])
        assert (merged.created, merged.refreshed) == (row.created, row.refreshed) == (START, later)

        answer = await here.obey(FORGET_THAT)

        assert answer == "Forgotten: your dog is called Max. Say undo to keep it."
        assert set(here.forgetting.hidden[0].exchanges) == {first.id, again.id}
        assert await here.recalled(WHAT) == set()
        assert await here.purge_later()
    assert kept(tmp_path) == (set(), set())


async def test_forgetting_an_answer_forgets_every_exchange_that_stated_its_fact(
    here: Bench,
) -> None:
    told = [here.tell(DOG).id]
    here.pass_time(3600)
    again, cat = await here.tell_all(DOG, CAT)
    asked = await ask(here, WHAT, "Max.")

    await here.obey(FORGET_THAT)

    assert set(here.forgetting.hidden[0].exchanges) == {*told, again.id, asked}
    assert await here.recalled("What is my dog called, and my cat?") == {CAT}
    assert [each.id for each in here.window.exchanges] == [cat.id]


async def test_undo_names_what_it_restored(here: Bench) -> None:
    here.tell(DOG)
    here.pass_time(1)
    here.tell(CAT)
    note = Memory(new_id(), "ada", MemoryKind.FACT, "Tea is kept in the shed.", START)
    await asyncio.to_thread(here.memory.put, [note])
    await here.memory.settled()
    await here.obey(Command(CommandKind.FORGET_ABOUT, words="the shed"))
    await here.obey(Command(CommandKind.FORGET_ABOUT, words="my dog"))
    assert await here.obey(UNDO) == BACK
    assert await here.obey(UNDO) == "Brought back: Tea is kept in the shed."
    assert await here.obey(UNDO) == NONE_BACK
    await here.forgetting.hide([each.id for each in here.window.exchanges], ())
    assert await here.obey(UNDO) == (
        "Brought back: your cat is called Kim; your dog is called Max."
    )


async def test_undo_does_not_claim_to_restore_a_deleted_exchange(here: Bench) -> None:
    [dog] = await here.tell_all(DOG)
    await here.forgetting.hide([dog.id], ())
    here.transcript.delete_exchanges("ada", [dog.id])
    assert await here.obey(UNDO) == NONE_BACK


async def test_undo_names_what_it_restored_even_if_the_memories_cannot_be_read_yet(
    here: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unread(*_: object) -> tuple[Memory, ...]:
        raise StoreError("The memories are still being read.")

    await here.tell_all(DOG)
    await here.obey(FORGET_THAT)
    monkeypatch.setattr(MemoryAccess, "some", unread)
    assert await here.obey(UNDO) == BACK
    assert any(isinstance(each, ForgettingUndone) for each in here.events)
    assert await here.recalled(WHAT) == {DOG}


async def test_undo_names_an_exchange_that_was_not_stored_yet(here: Bench) -> None:
    here.window.talk.append_user(1, DOG, START)
    exchange = here.window.talk.complete(1, "I see.", ended=START)
    here.window.unsaved[exchange.id] = exchange
    assert "Max" in str(await here.obey(FORGET_THAT))
    assert await here.obey(UNDO) == BACK
    assert here.window.exchanges == (exchange,)


async def test_a_request_that_cannot_be_recorded_is_carried_out_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: HiddenItems) -> None:
        raise StoreError("The disk is full.")

    async with bench(tmp_path) as here:
        await here.tell_all(DOG)
        monkeypatch.setattr(here.transcript, "hide", full)
        assert await here.obey(FORGET_THAT) == (
            "I've forgotten that for now, but it may come back after a restart: The disk is full."
        )
        assert await here.recalled(WHAT) == set()
        assert await here.purge_later()
    assert kept(tmp_path) == (set(), set())


async def test_a_topic_that_names_nothing_is_not_forgotten(here: Bench) -> None:
    here.tell(DOG)
    said = await here.obey(Command(CommandKind.FORGET_ABOUT, words="him"))
    assert said == "I'm not sure what you want me to forget."
    assert here.forgetting.hidden == ()


@pytest.mark.parametrize(
    "midnight",
    [
        datetime(2026, 3, 8, 5, tzinfo=UTC),  # an hour is left out at two
        datetime(2026, 11, 1, 4, tzinfo=UTC),  # an hour occurs twice
        datetime(2026, 11, 21, 5, tzinfo=UTC),
    ],
    ids=["spring", "autumn", "any"],
)
async def test_today_begins_at_midnight_even_if_the_clocks_have_changed_since(
    tmp_path: Path, midnight: datetime
) -> None:
    with in_zone(NEW_YORK):
        async with bench(tmp_path, at=midnight) as here:
            for minutes, words in ((-30, DOG), (30, CAT)):
                here.clock[0] = midnight + timedelta(minutes=minutes)
                await here.tell_all(words)
            here.clock[0] = midnight + timedelta(hours=15)
            asked = await here.obey(Command(CommandKind.FORGET_TODAY))
            assert asked == "That's one thing: your cat is called Kim. Forget it?"
            assert await here.answer("Yes.") == (
                "Forgotten: your cat is called Kim. Say undo to keep it."
            )
            left = {each.text for each in here.memory.index.outlines().values()}
            assert DOG in left
            assert CAT not in left
