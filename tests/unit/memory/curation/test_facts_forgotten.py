"""Extracted facts that are forgotten, corrected by the user, expired or extracted again."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation, Exchange
from assistant.memory.records.ids import fact_id
from assistant.memory.transcript.derived_outputs import DerivedOutputs
from tests.support.desks import forget_now
from tests.support.extracting import DOG, MUCH, NO, PEANUTS, SAID, Here, here
from tests.support.forgetting import START
from tests.support.remains import found, vectors_of


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Here]:
    async with here(tmp_path) as opened:
        yield opened


# -- forgotten ----------------------------------------------------------------------------------


async def test_a_fact_is_hidden_and_comes_back_with_its_exchange(at: Here) -> None:
    exchange = await at.tell()
    await at.extract(exchange)
    hidden = await at.bench.forgetting.hide([exchange.id], ())
    assert await at.bench.recalled("peanuts") == set()
    assert at.derived() == {}
    assert await at.work.missing(9) == []
    await at.bench.forgetting.undo(hidden.id)
    assert await at.bench.recalled("allergic to peanuts") & {PEANUTS, SAID}
    assert len(at.derived()) == 1


async def test_a_fact_that_is_forgotten_with_its_exchange_leaves_no_byte(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        exchange = await at.tell()
        await at.extract(exchange)
        await at.bench.memory.settled()
    gone = {SAID, DOG, PEANUTS, "dog is called Maximilian"}
    vectors = vectors_of(tmp_path, {DOG, PEANUTS})
    assert len(vectors) == 2
    assert found(tmp_path, gone, vectors) != []
    async with here(tmp_path) as at:
        await at.bench.forgetting.hide([exchange.id], ())
        assert await at.bench.purge_later()
        assert at.facts() == []
        await at.extract(exchange)
        await asyncio.to_thread(at.bench.memory.rebuild, at.bench.transcript)
        assert at.facts() == []
    assert found(tmp_path, gone, vectors) == []


async def test_no_fact_is_stored_if_its_source_is_forgotten_while_the_model_writes(
    tmp_path: Path,
) -> None:
    gate = asyncio.Event()
    async with here(tmp_path, waits=gate) as at:
        exchange = await at.tell()
        task = asyncio.create_task(at.extract(exchange))
        await at.llm.writing.wait()
        hidden = await at.bench.forgetting.hide([exchange.id], ())
        gate.set()
        await task
        assert (at.facts(), at.derived()) == ([], {})
        await at.bench.forgetting.undo(hidden.id)
        assert await at.work.missing(9) == [exchange.id]
        await at.extract(exchange)
        assert at.texts() == {DOG, PEANUTS}


async def test_a_fact_whose_source_is_forgotten_while_it_is_stored_leaves_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with here(tmp_path) as at:
        exchange = await at.tell()
        with monkeypatch.context() as late:
            late.setattr(DerivedOutputs, "keep", lambda *_: False)
            await at.extract(exchange)
        assert at.facts() == []
        assert await at.bench.recalled("peanuts") == {SAID}
    assert found(tmp_path, {DOG, PEANUTS}, []) == []


async def test_a_fact_told_twice_is_stored_once_and_outlives_its_first_source(at: Here) -> None:
    first, second = [await at.tell("My dog is called Maximilian.") for _ in range(2)]
    await at.extract(first, second)
    [fact] = at.facts()
    assert set(fact.sources) == {first.id, second.id}
    await at.bench.forgetting.hide([first.id], ())
    assert await at.bench.purge_later()
    [fact] = at.facts()
    assert (fact.text, fact.sources) == (DOG, (second.id,))


async def test_a_reworded_fact_is_stored_once_and_each_of_its_sources_can_be_forgotten(
    at: Here,
) -> None:
    first = await at.tell("My dog is called Maximilian.")
    second = await at.tell("Oh, my dog's name is Maximilian.")
    await at.extract(second, first)  # the order does not matter
    [fact] = at.facts()
    assert set(fact.sources) == {first.id, second.id}
    await at.bench.forgetting.hide([second.id], ())
    assert await at.bench.purge_later()
    assert await at.work.missing(9) == [first.id]
    await at.extract(first)
    [fact] = at.facts()
    assert (fact.text, fact.sources) == (DOG, (first.id,))


async def test_a_deleted_fact_does_not_come_back_in_other_words(at: Here) -> None:
    first = await at.tell("My dog is called Maximilian.")
    second = await at.tell("Oh, my dog's name is Maximilian.")
    await at.extract(first, second)
    await asyncio.to_thread(forget_now, at.desk, [fact_id(first.id, 0)])
    assert at.derived() == {first.id: [None], second.id: [None]}
    await asyncio.to_thread(at.bench.memory.rebuild, at.bench.transcript)
    assert at.facts() == []


async def test_a_change_is_recognised_in_any_order_of_extraction(at: Here) -> None:
    home = await at.tell("I live in Porto.")
    again = await at.tell("We live in Porto, you know.")
    at.bench.pass_time(86_400)
    moved = await at.tell("I moved to Lisbon.")
    await at.extract(moved, again, home)
    known = {each.text: each.superseded_by for each in at.facts()}
    assert len(known) == 2
    assert known.pop("The user moved to Lisbon.") is None
    assert list(known.values()) == [fact_id(moved.id, 0)]


async def test_the_statement_of_a_change_is_kept_and_supersedes_the_old_value(
    at: Here,
) -> None:
    before = await at.tell("My boss's name is Hugo.")
    at.bench.pass_time(86_400)
    changed = await at.tell("My new boss is called Peter.")
    at.bench.pass_time(86_400)
    again = await at.tell("My boss is called Peter.")
    await at.extract(again, before, changed)
    known = {each.text: each.superseded_by for each in at.facts()}
    assert known.pop("The user's new boss is called Peter.") is None
    [(text, by)] = known.items()
    assert text == "The user's boss's name is Hugo."
    assert by in {fact_id(changed.id, 0), f"{changed.id}-user"}


# -- corrected by the user ----------------------------------------------------------------------


async def test_a_fact_that_the_user_deleted_never_comes_back(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        exchange = await at.tell()
        await at.extract(exchange)
        await asyncio.to_thread(forget_now, at.desk, [fact_id(exchange.id, 0)])
        assert at.texts() == {PEANUTS}
        [content] = at.derived().values()
        assert content[0] is None
        await asyncio.to_thread(at.bench.memory.rebuild, at.bench.transcript)
        assert at.texts() == {PEANUTS}
        await renewed(at, exchange)
        assert at.texts() == {PEANUTS}
    assert found(tmp_path, {DOG}, []) == []


async def test_a_fact_that_the_user_edited_is_not_changed_again(at: Here) -> None:
    exchange = await at.tell()
    await at.extract(exchange)
    corrected = "The user's dog is called Max."
    await asyncio.to_thread(at.desk.edit, fact_id(exchange.id, 0), corrected)
    await asyncio.to_thread(at.bench.memory.rebuild, at.bench.transcript)
    assert at.texts() == {corrected, PEANUTS}
    await renewed(at, exchange)
    assert at.texts() == {corrected, PEANUTS}


async def renewed(at: Here, exchange: Exchange) -> None:
    """Extract again, as after an update of the rules; the model must not be asked."""
    asked = len(at.llm.requests)
    at.work.version += 1
    assert await at.work.missing(9) == [exchange.id]
    await at.extract(exchange)
    assert await at.work.missing(9) == []
    assert len(at.llm.requests) == asked


async def test_a_fact_extracted_by_new_rules_keeps_its_pin(tmp_path: Path) -> None:
    async with here(tmp_path, (MUCH, MUCH, MUCH, NO)) as at:
        exchange = await at.tell()
        await at.extract(exchange)
        await asyncio.to_thread(at.desk.mark, fact_id(exchange.id, 0), pinned=True)
        at.work.version += 1
        await at.extract(exchange)
        [fact] = at.facts()
        assert (fact.text, fact.pinned) == (DOG, True)


@pytest.mark.parametrize("what", ["fact", "words"])
async def test_expired_facts_are_not_extracted_again(at: Here, what: str) -> None:
    exchange = await at.tell()
    await at.extract(exchange)
    expired = fact_id(exchange.id, 0) if what == "fact" else f"{exchange.id}-user"
    at.bench.transcript.note_expired("ada", [(exchange.id, expired)], START)
    await asyncio.to_thread(at.bench.memory.delete, at.facts())
    asked = len(at.llm.requests)
    at.work.version += 1
    await at.extract(exchange)
    assert (at.facts(), len(at.llm.requests)) == ([], asked)


# -- rebuilt ------------------------------------------------------------------------------------


async def test_a_lost_table_is_rebuilt_without_the_model(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        await at.extract(await at.tell())
    (tmp_path / "memories").rename(tmp_path / "lost")
    async with here(tmp_path) as at:
        await at.bench.memory.settled()
        assert at.texts() == {DOG, PEANUTS}
        await asyncio.to_thread(at.bench.memory.rebuild, at.bench.transcript)
        assert at.texts() == {DOG, PEANUTS}
        assert at.llm.requests == []


async def test_another_users_words_are_not_read(at: Here) -> None:
    others = Conversation.begin("bob")
    others.append_user(1, "I live in Rome.", START)
    exchange = others.complete(1, "", ended=datetime.now(UTC))
    at.bench.transcript.store(others, exchange)
    assert await at.work.missing(9) == []
    await at.extract(exchange)
    assert (at.llm.requests, at.facts()) == ([], [])
