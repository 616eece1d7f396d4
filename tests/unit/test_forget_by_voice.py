"""Spoken commands to forget, on a real transcript, a real table and a real index."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.errors import StoreError
from assistant.events import ForgettingUndone, Latency, MemoryUsed, TurnEnded
from assistant.intents.command import Command, CommandKind
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from tests.support.forgetting import LEISURE_S, START, Bench, bench, kept

DOG = "My dog is called Max."
CAT = "My cat is called Kim."
FORGET_THAT = Command(CommandKind.FORGET_THAT)
UNDO = Command(CommandKind.UNDO)


async def ask(here: Bench, question: str, answer: str) -> str:
    """Answered with what is recalled; returns the exchange's id."""
    found = (await here.memory.recall(question, LEISURE_S)).memories
    used = tuple(MemoryUsed(e.id, e.text, e.score, e.speaker, said=e.created) for e in found)
    turn = here.window.talk.last_turn + 1
    here.window.talk.append_user(turn, question, here.clock[0])
    exchange = here.window.talk.complete(turn, answer, ended=here.clock[0])
    here.obeying.watch(TurnEnded(turn, question, answer, False, Latency(), used))
    return exchange.id


async def test_what_was_told_before_goes_too_when_it_is_told_again(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        first = here.tell(DOG)
        await here.memory.settled()
    later = START + timedelta(hours=1)
    async with bench(tmp_path, Conversation.begin("ada"), later) as here:
        again = here.tell(DOG)
        await here.memory.settled()
        [merged] = [m for m in here.memory.index.outlines().values() if m.text == DOG]
        assert set(merged.sources) == {first.id, again.id}, "two tellings, one memory"

        answer = await here.obeying.carry_out(FORGET_THAT)

        assert answer == "Forgotten: your dog is called Max. Say undo to keep it."
        assert set(here.forgetting.hidden[0].exchanges) == {first.id, again.id}
        assert await here.recalled("What is my dog called?") == set()
        here.pass_time(61)
        assert await here.forgetting.purge_due()
    assert kept(tmp_path) == (set(), set())


async def test_what_an_answer_was_made_of_goes_with_all_its_tellings(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        told = [here.tell(DOG).id]
        here.pass_time(3600)
        told.append(here.tell(DOG).id)
        cat = here.tell(CAT)
        await here.memory.settled()
        asked = await ask(here, "What is my dog called?", "Max.")

        await here.obeying.carry_out(FORGET_THAT)

        assert set(here.forgetting.hidden[0].exchanges) == {*told, asked}
        assert await here.recalled("What is my dog called, and my cat?") == {CAT}
        assert [each.id for each in here.window.exchanges] == [cat.id]


async def test_outlines_tell_when_it_was_first_told_and_when_again(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        here.tell(DOG)
        here.pass_time(3600)
        here.tell(DOG)
        await here.memory.settled()
        [merged] = [m for m in here.memory.index.outlines().values() if m.text == DOG]
        [row] = here.memory.table.get("ada", [merged.id])
        assert (merged.created, merged.refreshed) == (row.created, row.refreshed)
        assert merged.refreshed == START + timedelta(hours=1)


async def test_undo_names_what_came_back(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        here.tell(DOG)
        here.pass_time(1)
        here.tell(CAT)
        note = Memory(new_id(), "ada", MemoryKind.FACT, "Tea is kept in the shed.", START)
        await asyncio.to_thread(here.memory.put, [note])
        await here.memory.settled()
        await here.obeying.carry_out(Command(CommandKind.FORGET_ABOUT, about="the shed"))
        await here.obeying.carry_out(Command(CommandKind.FORGET_ABOUT, about="my dog"))
        assert await here.obeying.carry_out(UNDO) == "Brought back: your dog is called Max."
        assert await here.obeying.carry_out(UNDO) == "Brought back: Tea is kept in the shed."
        assert await here.obeying.carry_out(UNDO) == "There is nothing left to bring back."
        await here.forgetting.hide([each.id for each in here.window.exchanges], ())
        assert await here.obeying.carry_out(UNDO) == (
            "Brought back: your cat is called Kim; your dog is called Max."
        )


async def test_undo_claims_nothing_that_is_not_there(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        await here.forgetting.hide([dog.id], ())
        here.transcript.delete_exchanges("ada", [dog.id])
        assert await here.obeying.carry_out(UNDO) == "There is nothing left to bring back."


async def test_what_is_back_is_told_though_its_memories_cannot_be_read_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unread(_: object) -> tuple[Memory, ...]:
        raise StoreError("The memories are still being read.")

    async with bench(tmp_path, Conversation.begin("ada")) as here:
        here.tell(DOG)
        await here.memory.settled()
        await here.obeying.carry_out(FORGET_THAT)
        monkeypatch.setattr(here.forgetting, "_memories", unread)
        assert await here.obeying.carry_out(UNDO) == "Brought back: your dog is called Max."
        assert any(isinstance(each, ForgettingUndone) for each in here.events)
        assert await here.recalled("What is my dog called?") == {DOG}


async def test_an_exchange_that_was_not_stored_yet_comes_back_by_name(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        here.window.talk.append_user(1, DOG, START)
        exchange = here.window.talk.complete(1, "I see.", ended=START)
        here.window.unsaved[exchange.id] = exchange
        assert "Max" in str(await here.obeying.carry_out(FORGET_THAT))
        assert await here.obeying.carry_out(UNDO) == "Brought back: your dog is called Max."
        assert here.window.exchanges == (exchange,)


async def test_what_another_process_hides_is_hidden_here(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        hidden = HiddenItems.of("ada", [dog.id], (), START, timedelta(minutes=1))
        here.transcript.hide(hidden)
        assert await here.forgetting.pending() == (hidden,)
        assert here.window.exchanges == ()
        assert await here.recalled("What is my dog called?") == set()


async def test_what_cannot_be_noted_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: HiddenItems) -> None:
        raise StoreError("The disk is full.")

    async with bench(tmp_path, Conversation.begin("ada")) as here:
        here.tell(DOG)
        await here.memory.settled()
        monkeypatch.setattr(here.transcript, "hide", full)
        assert await here.obeying.carry_out(FORGET_THAT) == (
            "I've forgotten that for now, but it may come back after a restart: The disk is full."
        )
        assert await here.recalled("What is my dog called?") == set()


async def test_a_topic_that_names_nothing_is_asked_about(tmp_path: Path) -> None:
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        here.tell(DOG)
        said = await here.obeying.carry_out(Command(CommandKind.FORGET_ABOUT, about="him"))
        assert said == "I'm not sure what you want me to forget."
        assert here.forgetting.hidden == ()
