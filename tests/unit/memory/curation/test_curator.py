"""Duplicates, conflicts and expiry on a real table and a real transcript."""

import asyncio
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from assistant.context.conversation import Conversation
from assistant.errors import SettingsError
from assistant.language.speakers import ASSISTANT
from assistant.memory.admin import MemoryAdmin
from assistant.memory.admin_requests import handle_request
from assistant.memory.curation import curator
from assistant.memory.records import serialization
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.store import lance_schema, open_table
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from tests.support.desks import forget_now, newest, open_memory_admin
from tests.support.encoders import HashingEncoder
from tests.support.kept_clean import AGAIN, DAYS_AGO, SAID, SETTINGS, USER, running, said
from tests.support.memories import memory as a_memory
from ui.text.memories import lines


def told(home: Home, *texts: str, answer: str = "Good.", start: datetime = DAYS_AGO) -> list[str]:
    """Store these in the transcript, each on its own day and in its own conversation; returns the
    exchanges' ids."""
    ids = []
    with closing(Transcript.open(home.transcript)) as transcript:
        for day, text in enumerate(texts):
            exchange = said(text, answer, start + timedelta(days=day))
            transcript.store(Conversation.begin(USER), exchange)
            ids.append(exchange.id)
    return ids


@contextmanager
def desk(home: Home) -> Iterator[MemoryAdmin]:
    """The request handler, with the long-term memory loaded as at a start of the program."""
    with open_memory_admin(home, SETTINGS, lambda _: QueryEncoder(HashingEncoder())) as opened:
        opened.search("anything", 1)
        yield opened


def starts(home: Home, *rebuilds: bool) -> Iterator[MemoryAdmin]:
    """One start for each value; the memories are rebuilt at those that are True."""
    for rebuild in rebuilds:
        with desk(home) as opened:
            if rebuild:
                opened.rebuild()
            yield opened


def of_user(opened: MemoryAdmin) -> list[Memory]:
    return [m for m in reversed(newest(opened)) if m.speaker != ASSISTANT]


# -- repeated -----------------------------------------------------------------------------------


async def test_a_repetition_refreshes_the_existing_memory(home: Home) -> None:
    async with running(home) as (memory, archive):
        first, second = said(SAID, at=DAYS_AGO), said(AGAIN)
        for exchange in (first, second):
            archive.store(Conversation.begin(USER), exchange)
            await memory.settled()
        [found] = [m for m in (await memory.recall("the dog", 30)).memories if m.speaker == "user"]
        assert (found.id, found.text) == (f"{first.id}-user", SAID)
        assert found.sources == (first.id, second.id)
        assert found.created == second.started, "the memory counts as said just now"
        memory.mark_used([f"{second.id}-user"], datetime.now(UTC))
        await memory.settled()
        [kept] = memory.table.get(USER, [found.id])
        assert kept.uses == 1, "a use of the merged memory counts"
    async with running(home) as (memory, _):
        assert [m.sources for m in memory.table.get(USER, [found.id])] == [found.sources]
        assert memory.table.count(USER) == 3, "one memory and two answers, none created again"


def test_a_lost_table_is_rebuilt_without_duplicates(home: Home) -> None:
    ids = told(home, SAID, "It rains.", AGAIN, SAID)
    for opened in starts(home, False, True, False):
        dog, rain = of_user(opened)
        assert dog.sources == (ids[0], ids[2], ids[3])
        assert dog.refreshed == DAYS_AGO + timedelta(days=3)
        assert rain.text == "It rains."


def test_a_merge_killed_between_its_two_writes_is_completed(home: Home) -> None:
    ids = told(home, SAID, AGAIN)
    with desk(home) as opened:
        (kept,) = of_user(opened)
        left = replace(kept, id=f"{ids[1]}-user", text=AGAIN, sources=(ids[1],))
        left = replace(left, refreshed=None, created=DAYS_AGO + timedelta(days=1))
    with closing(MemoryTable.open(str(home.memories))) as table:
        table.add([left])
    with desk(home) as opened:
        assert of_user(opened) == [kept]


def test_a_merge_can_be_undone_for_good(home: Home) -> None:
    ids = told(home, SAID, AGAIN)
    with desk(home) as opened:
        apart = opened.split(ids[0][:8] + "-u")
        assert [(m.text, m.sources, m.separate) for m in apart] == [
            (SAID, (ids[0],), True),
            (AGAIN, (ids[1],), True),
        ]
        assert of_user(opened) == list(apart)
    for opened in starts(home, False, True):
        assert [m.text for m in of_user(opened)] == [SAID, AGAIN]
        assert all(m.refreshed is None for m in of_user(opened))
        with pytest.raises(SettingsError, match="Nothing was merged"):
            opened.split(f"{ids[0]}-user")


def test_the_command_line_shows_and_splits_merged_memories(home: Home) -> None:
    ids = told(home, SAID, AGAIN)
    with desk(home) as opened:
        shown = "\n".join(lines(handle_request(opened, {"act": "show", "id": f"{ids[0]}-user"})))
        assert "said again" in shown
        assert "expires       never" in shown
        answer = "\n".join(
            lines(handle_request(opened, {"act": "show", "id": f"{ids[0]}-assistant"}))
        )
        assert f"{DAYS_AGO + timedelta(days=365):%Y-%m}" in answer
        assert shown.count("Based on the exchange of") == 2
        split = list(lines(handle_request(opened, {"act": "split", "id": f"{ids[0]}-user"})))
        assert split[-1] == "2 memories are separate now."
        shown = "\n".join(lines(handle_request(opened, {"act": "show", "id": f"{ids[0]}-user"})))
        assert "said again" not in shown


@pytest.mark.parametrize("which", [0, 1])
def test_forgetting_one_of_two_merged_exchanges_keeps_the_other(home: Home, which: int) -> None:
    ids = told(home, SAID, AGAIN, answer="Is that so, and what does he like to eat?")
    with desk(home) as opened:
        gone = forget_now(opened, [f"{ids[which]}-assistant"])
        assert gone.exchanges == (ids[which],)
        (left,) = of_user(opened)
        stays = ids[1 - which]
        assert (left.id, left.sources) == (f"{ids[0]}-user" if which else f"{stays}-user", (stays,))
        assert left.text == (SAID, AGAIN)[1 - which]
        assert left.refreshed is None
        assert [m.id for m in opened.search("dog", 5).memories if m.speaker == "user"] == [left.id]
    for opened in starts(home, False, True):
        assert [m.text for m in of_user(opened)] == [left.text]


def test_forgetting_a_merged_memory_forgets_all_its_exchanges(home: Home) -> None:
    ids = told(home, SAID, AGAIN)
    with desk(home) as opened:
        assert set(forget_now(opened, [f"{ids[0]}-user"]).exchanges) == set(ids)
    with desk(home) as opened:
        assert len(newest(opened)) == 0


def test_a_memory_added_twice_exists_once(home: Home) -> None:
    with desk(home) as opened:
        first = opened.add("The spare key is under the pot.")
        again = opened.add("the spare key is under the pot.")
        assert (again.id, again.sources) == (first.id, (ADDED_BY_USER,))
        assert opened.add("The spare key is under the blue pot.").id != first.id
        assert len(newest(opened)) == 2


# -- changed ------------------------------------------------------------------------------------


def test_a_changed_fact_supersedes_the_old_one_and_both_are_kept(home: Home) -> None:
    ids = told(home, "I live in Porto now", "I now live in Lisbon", "It rains.")
    old, new = (f"{key}-user" for key in ids[:2])
    for opened in starts(home, False, True):
        shown = opened.show(new)
        assert [each["id"] for each in shown["replaced"]] == [old]
        assert opened.show(old)["replaced_by"]["id"] == new
        found = [m.id for m in opened.search("where do I live, Porto?", 10).memories]
        assert found.index(new) < found.index(old)


def test_a_wrong_conflict_can_be_undone_for_good(home: Home) -> None:
    ids = told(home, "I live in Porto now", "I now live in Lisbon")
    with desk(home) as opened:
        assert len(opened.split(f"{ids[0]}-user")) == 2
    for _ in range(2):
        with desk(home) as opened:
            assert [(m.superseded_by, m.supersedes) for m in of_user(opened)] == [(None, ())] * 2


def test_a_change_back_is_not_a_repetition(home: Home) -> None:
    ids = told(home, "I live in Porto now", "I now live in Lisbon", "I live in Porto now")
    with desk(home) as opened:
        first, second, third = of_user(opened)
        assert first.superseded_by == second.id
        assert second.superseded_by == third.id == f"{ids[2]}-user"
        assert third.superseded_by is None


# -- expired ------------------------------------------------------------------------------------


def limited(home: Home, key: str, at: datetime) -> None:
    with closing(MemoryTable.open(str(home.memories))) as table:
        [memory] = table.get(USER, [key])
        table.update([replace(memory, expires=at)])


def test_an_expired_memory_and_those_based_on_it_are_deleted_for_good(home: Home) -> None:
    ids = told(home, SAID, "It rains.", answer="")
    with desk(home) as opened:
        fact = a_memory("Max is a dog.", USER)
        fact = replace(fact, id="the-fact", kind=MemoryKind.FACT, sources=(ids[0],))
        opened.import_([serialization.to_json(fact)])
    limited(home, f"{ids[0]}-user", datetime.now(UTC) - timedelta(seconds=1))
    for opened in starts(home, False, True, False):
        assert [m.text for m in of_user(opened)] == ["It rains."]
        assert opened.stats()["exchanges"] == 2, "the transcript keeps the exchange"
    with desk(home) as opened:
        forget_now(opened, [f"{ids[1]}-user"])
        assert len(newest(opened)) == 0


async def test_an_expired_memory_is_not_recalled(home: Home) -> None:
    async with running(home) as (memory, archive):
        archive.store(Conversation.begin(USER), said(SAID))
        await memory.settled()
        [kept] = [m for m in (await memory.recall("dog", 30)).memories if m.speaker == "user"]
        soon = datetime.now(UTC) + timedelta(seconds=0.3)
        await asyncio.to_thread(memory.change, [kept.id], lambda old: replace(old, expires=soon))
        while datetime.now(UTC) < soon:
            await asyncio.sleep(0.05)
        found = await memory.recall("dog", 30)
        assert kept.id not in [m.id for m in found.memories]
        assert memory.table.get(USER, [kept.id]), "not deleted yet"


def test_unimportant_old_answers_expire_by_default_and_pinned_ones_never(home: Home) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=400)
    ids = told(home, SAID, "It rains.", answer="What a lovely dog he must be.", start=long_ago)
    with desk(home) as opened:
        assert {m.speaker for m in newest(opened)} == {"user"}
        opened.rebuild()
        assert {m.speaker for m in newest(opened)} == {"user"}
    home.transcript.unlink()
    told(home, "Something new.", answer="")
    with desk(home) as opened:
        assert f"{ids[0]}-user" in [m.id for m in newest(opened)]


def test_many_memories_expire_in_batches(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curator, "EXPIRED_AT_ONCE", 2)
    rows = [
        serialization.to_json(
            replace(
                a_memory(f"note {number}", USER),
                kind=MemoryKind.EVENT,
                expires=DAYS_AGO if number % 2 else None,
            )
        )
        for number in range(11)
    ]
    with desk(home) as opened:
        opened.import_(rows)
        assert len(newest(opened)) == 11
    with desk(home) as opened:
        opened.add("Wait for what comes before.")
        opened.add("Again.")
        assert len(newest(opened)) == 6 + 2


def test_expiries_recorded_by_a_clock_that_ran_ahead_do_not_count(home: Home) -> None:
    (key,) = told(home, SAID)
    with closing(Transcript.open(home.transcript)) as transcript:
        now = datetime.now(UTC)
        transcript.note_expired(
            USER, [(key, f"{key}-user"), ("unknown", "x")], now + timedelta(days=99)
        )
        transcript.note_expired("bob", [(key, f"{key}-user")], now)
        assert transcript.expired(USER, now) == set()
        assert transcript.expired(USER, now + timedelta(days=100)) == {f"{key}-user"}
        transcript.delete_exchanges(USER, [key])
        assert transcript.expired(USER, now + timedelta(days=100)) == set()


def test_a_table_of_the_first_version_is_migrated(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = a_memory()
    with monkeypatch.context() as before:
        before.setattr(open_table, "MIGRATIONS", ())
        with closing(MemoryTable.open(str(home.memories))) as table, table._adding() as raw:
            assert "refreshed" not in raw.schema.names
            raw.add(lance_schema.rows([old], 1).select(lance_schema.first_schema().names))
    for _ in range(2):
        with closing(MemoryTable.open(str(home.memories))) as table:
            assert table.get("ada", [old.id]) == [old]
            table.update([replace(old, separate=True)])
            assert table.get("ada", [old.id])[0].separate
            table.update([old])
