"""What a user interface can do with memories, on a real table and a real transcript."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from assistant.compose.memory import open_command_memory
from assistant.context.conversation import Conversation, Exchange
from assistant.encryption.vault import open_vault
from assistant.errors import AssistantError, SettingsError, StoreError, StoreInUse
from assistant.memory.admin import MemoryAdmin
from assistant.memory.records.ids import ADDED_BY_USER, short
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.records.serialization import to_json
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.vectors.tiers import Tier
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.desks import forget_now, newest, open_memory_admin
from tests.support.encoders import HashingEncoder
from tests.support.memories import rich

START = datetime.now(UTC).replace(microsecond=0) - timedelta(days=30)  # not old enough to expire
SAID = (
    ("My dog Max loves to fetch.", "What a lovely dog."),
    ("I moved to Lisbon in May.", "How do you like it there?"),
    ("The dentist is on Friday.", "I will remember that."),
)


def talked(home: Home, user: str = "me") -> Conversation:
    """Stores three exchanges in the transcript, one a minute."""
    transcript = Transcript.open(home.transcript)
    conversation = Conversation.begin(user)
    for turn, (words, answer) in enumerate(SAID, start=1):
        started = START + timedelta(minutes=turn)
        exchange = conversation.append_user(turn, words, started)
        exchange = conversation.complete(turn, answer, ended=started + timedelta(seconds=9))
        transcript.store(conversation, exchange)
    transcript.close()
    return conversation


@pytest.fixture
def admin(home: Home) -> Iterator[MemoryAdmin]:
    with open_memory_admin(home, Settings(), lambda _: QueryEncoder(HashingEncoder())) as opened:
        yield opened


@pytest.fixture
def conversation(home: Home) -> Conversation:
    return talked(home)


@pytest.fixture
def filled(conversation: Conversation, admin: MemoryAdmin) -> MemoryAdmin:
    """The three exchanges are remembered."""
    admin.rebuild()
    return admin


def texts(admin: MemoryAdmin) -> list[str]:
    return [memory.text for memory in newest(admin)]


def id_of(admin: MemoryAdmin, words: str) -> str:
    return next(memory.id for memory in newest(admin) if words in memory.text)


def fact(key: str, text: str, **more: object) -> dict[str, object]:
    memory = Memory(id=key, user_id="me", kind=MemoryKind.FACT, text=text, created=START)
    return {**to_json(memory), **more}


def test_memories_are_listed_newest_first_and_can_be_filtered(filled: MemoryAdmin) -> None:
    filled.add("Tea, never coffee.")

    assert texts(filled)[:3] == ["Tea, never coffee.", SAID[2][1], SAID[2][0]]
    assert [memory.text for memory in newest(filled, MemoryKind.FACT)] == ["Tea, never coffee."]


def test_an_added_memory_is_found_at_once_and_after_a_restart(home: Home) -> None:
    with open_memory_admin(home, Settings(), lambda _: QueryEncoder(HashingEncoder())) as admin:
        added = admin.add("  The spare key is under the blue pot. ")
        assert admin.search("spare key", 5).memories[0].id == added.id
        assert (added.kind, added.confidence, added.sources) == (
            MemoryKind.FACT,
            1.0,
            (ADDED_BY_USER,),
        )
    with open_memory_admin(home, Settings(), lambda _: QueryEncoder(HashingEncoder())) as admin:
        (found,) = admin.search("where is the key", 5).memories
        assert found.text == "The spare key is under the blue pot."
        assert "key" in found.words
        assert found.score == pytest.approx(sum(found.parts.values()))
        assert set(admin.stats()["without_vector"].values()) == {0}


def test_viewing_and_marking_need_no_encoder(home: Home, conversation: Conversation) -> None:
    with open_memory_admin(home, Settings(), lambda _: QueryEncoder(HashingEncoder())) as admin:
        admin.rebuild()

    def none(_: Settings) -> QueryEncoder:
        raise AssertionError("the encoder was asked for")

    with open_memory_admin(home, Settings(), none) as admin:
        key = id_of(admin, "Max")
        assert admin.show(key)["text"] == SAID[0][0]
        assert admin.mark(key, pinned=True).pinned
        assert admin.mark(key, never_recall=True).never_recall
        assert admin.mark(key, feedback=-1).feedback == -1
        assert admin.stats()["pinned"] == 1
        forget_now(admin, [key])
        assert len(texts(admin)) == 4


def test_show_gives_sources_and_neighbours(filled: MemoryAdmin, conversation: Conversation) -> None:
    shown = filled.show(id_of(filled, "Lisbon")[:12] + "-u")

    [exchange] = shown["exchanges"]
    assert (exchange["id"], exchange["user"]) == (conversation.exchanges[1].id, SAID[1][0])
    assert (shown["before"]["text"], shown["after"]["text"]) == (SAID[0][1], SAID[1][1])


def test_an_edited_fact_is_found_only_by_its_new_words(admin: MemoryAdmin) -> None:
    key = admin.add("I live in Porto.").id
    admin.add("Something else altogether.")

    assert admin.edit(key[:6], "My home is in Lisbon.").id == key
    assert admin.search("home Lisbon", 5).memories[0].text == "My home is in Lisbon."
    assert all("Porto" not in found.text for found in admin.search("Porto", 5).memories)
    assert set(admin.stats()["without_vector"].values()) == {0}


def test_the_words_of_an_exchange_cannot_be_edited(filled: MemoryAdmin) -> None:
    with pytest.raises(SettingsError, match="word for word") as refused:
        filled.edit(id_of(filled, "Max"), "My cat Max.")
    assert "forget" in str(refused.value.mend)
    assert SAID[0][0] in texts(filled)


def test_marks_take_effect_and_can_be_undone(filled: MemoryAdmin) -> None:
    key = id_of(filled, "Max")
    filled.mark(key, never_recall=True)
    assert all(found.id != key for found in filled.search("dog Max fetch", 10).memories)
    assert not filled.mark(key, never_recall=False).never_recall
    assert filled.search("dog Max fetch", 10).memories[0].id == key
    filled.mark(key, feedback=1)
    assert filled.mark(key, feedback=1).feedback == 2


def test_forgetting_deletes_the_exchange_and_memories_based_only_on_it(
    home: Home, filled: MemoryAdmin, conversation: Conversation
) -> None:
    first, second, _ = (exchange.id for exchange in conversation.exchanges)
    filled.import_(
        [
            fact("only-on-the-first", "Max is a dog.", sources=[first]),
            fact("on-both-of-them", "The user has a dog in Lisbon.", sources=[first, second]),
            fact("replaced-by-it", "There was a cat.", superseded_by=f"{first}-user"),
        ]
    )

    gone = forget_now(filled, [first[:8]])

    assert set(gone.memories) == {f"{first}-user", f"{first}-assistant", "only-on-the-first"}
    assert gone.exchanges == (first,)
    left = {memory.id: memory for memory in newest(filled)}
    assert not set(gone.memories) & set(left)
    assert left["on-both-of-them"].sources == (second,)
    assert left["replaced-by-it"].superseded_by is None
    assert all("Max" not in memory.context for memory in left.values())
    assert all("lovely dog" not in memory.context for memory in left.values())
    assert all(first not in found.id for found in filled.search("Max lovely dog", 10).memories)
    filled.rebuild()
    assert SAID[0][0] not in texts(filled)
    for file in home.root.glob("transcript*"):
        assert b"fetch" not in file.read_bytes()


def test_forgetting_a_derived_memory_keeps_its_sources_unless_requested(
    filled: MemoryAdmin, conversation: Conversation
) -> None:
    source = conversation.exchanges[0].id
    for key in ("derived-one", "derived-two"):
        filled.import_([fact(key, "Max is a dog.", sources=[source])])

    gone = forget_now(filled, ["derived-one"])
    assert (gone.memories, gone.exchanges, gone.staying) == (("derived-one",), (), (source,))
    assert SAID[0][0] in texts(filled)

    gone = forget_now(filled, ["derived-two"], sources=True)
    assert gone.exchanges == (source,)
    assert SAID[0][0] not in texts(filled)


def test_forgetting_an_unknown_memory_changes_nothing(filled: MemoryAdmin) -> None:
    with pytest.raises(StoreError, match="no memory"):
        forget_now(filled, [id_of(filled, "Max"), "0000000000"])
    assert len(texts(filled)) == 6


def test_every_field_survives_an_import(admin: MemoryAdmin) -> None:
    every = replace(rich(), user_id="me")
    assert admin.import_([json.loads(json.dumps(to_json(every)))]) == 1
    assert admin.memories([every.id]) == [every]


def test_an_import_restores_an_export(filled: MemoryAdmin) -> None:
    filled.add("Käse 🧀 and \u200fעברית")
    filled.mark(id_of(filled, "Max"), pinned=True, feedback=1)
    before = list(filled.export())
    filled._table.delete("me", [str(row["id"]) for row in before[2:]])

    assert filled.import_(before) == 7
    assert list(filled.export()) == before
    assert filled.import_([before[0] | {"importance": 0.9}]) == 1
    assert len(list(filled.export())) == 7
    assert filled.show(str(before[0]["id"]))["importance"] == 0.9


def test_forgotten_memories_are_not_imported(filled: MemoryAdmin) -> None:
    filled.add("Käse 🧀 and \u200fעברית")
    before = list(filled.export())
    forget_now(filled, [id_of(filled, "Käse"), id_of(filled, "Lisbon")])
    left = list(filled.export())
    assert filled.import_(before) == len(left) < len(before)
    assert list(filled.export()) == left


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("no object", "not a JSON object"),
        ({"id": "x"}, "`user_id` is missing"),
        (fact("", "no id"), "`id` is empty"),
        (fact("x", "hers", user_id="kim"), "a memory of 'kim', not of 'me'"),
        (fact("x", "a lot", importance=7), "`importance` is not between 0 and 1"),
        (fact("x", "odd", confidence=float("nan")), "`confidence` is not between 0 and 1"),
        (fact("x", "when", created="yesterday"), "yesterday"),
        (fact("x", "where", created="2026-11-21T10:00:00"), "no zone"),
        (fact("x", "never", created=None), "`created` can't be None"),
        (fact("x", "so they say", kind="rumour"), "rumour"),
        (fact("x", "much", importance="high"), "`importance` can't be 'high'"),
        (fact("x", "often", uses=1.5), "`uses` can't be"),
        (fact("x", "often", uses=True), "`uses` can't be"),
        (fact("x", "") | {"text": 5}, "`text` can't be 5"),
        (fact("x", "from", sources="e1"), "`sources` can't be"),
        (fact("x", "kept", pinned=1), "`pinned` can't be"),
        (fact("x", "more", colour="red"), "no field `colour`"),
    ],
)
def test_an_invalid_row_is_named_and_nothing_is_imported(
    admin: MemoryAdmin, row: Any, why: str
) -> None:
    with pytest.raises(SettingsError, match=f"Line 2 can't be imported: .*{why}"):
        admin.import_([fact("good", "A good one."), row])
    assert texts(admin) == []


def test_a_rebuild_keeps_marks_and_encodes_every_memory(
    filled: MemoryAdmin, conversation: Conversation
) -> None:
    filled.add("Tea, never coffee.")
    filled.mark(id_of(filled, "Max"), pinned=True)
    before = list(filled.export())

    assert filled.rebuild() == 7
    assert list(filled.export()) == before
    assert set(filled.stats()["without_vector"].values()) == {0}
    assert filled.stats()["exchanges"] == 3


def test_a_rebuild_restores_lost_rows(home: Home, filled: MemoryAdmin) -> None:
    table = filled._table
    table.delete("me", [memory.id for memory in newest(filled)])
    assert texts(filled) == []

    assert filled.rebuild() == 6
    assert filled.search("dog Max", 3).memories[0].text == SAID[0][0]


@pytest.mark.parametrize("text", ["", "  \n", "a\0b", "x" * 1_048_576])
def test_invalid_texts_are_refused_in_one_sentence(admin: MemoryAdmin, text: str) -> None:
    for act in (admin.add, lambda words: admin.search(words, 5)):
        with pytest.raises(SettingsError, match="text") as refused:
            act(text)
        assert str(refused.value).endswith(".")
        assert len(str(refused.value)) < 100


def test_id_prefixes_must_be_long_enough_known_and_unambiguous(admin: MemoryAdmin) -> None:
    admin.import_([fact("abcdef123", "One."), fact("abcdef999", "Two."), fact("ab", "Short.")])

    assert admin.show("abcdef1")["text"] == "One."
    assert admin.show("ab")["text"] == "Short."
    for named, words in (("abcdef", "2 memories"), ("abc", "too short"), ("zzzzzz", "no memory")):
        with pytest.raises(AssistantError, match=words):
            admin.show(named)


def test_both_turns_of_an_exchange_have_distinct_short_ids(filled: MemoryAdmin) -> None:
    names = [short(memory.id) for memory in newest(filled)]
    assert len(set(names)) == 6
    assert {filled.show(name)["id"] for name in names} == {memory.id for memory in newest(filled)}


def test_users_do_not_see_each_other(home: Home) -> None:
    talked(home, "kim")
    kim = Settings.model_validate({"general": {"user": "kim"}})
    with open_memory_admin(home, kim, lambda _: QueryEncoder(HashingEncoder())) as admin:
        assert admin.rebuild() == 6
        key = id_of(admin, "Max")
    with open_memory_admin(home, Settings(), lambda _: QueryEncoder(HashingEncoder())) as admin:
        assert texts(admin) == []
        assert admin.search("my dog Max", 5).memories == ()
        for act in (admin.show, lambda named: forget_now(admin, [named])):
            with pytest.raises(StoreError, match="no memory"):
                act(key)
        assert admin.rebuild() == 0
    with open_memory_admin(home, kim, lambda _: QueryEncoder(HashingEncoder())) as admin:
        assert len(texts(admin)) == 6


def test_a_table_opened_elsewhere_is_reported_as_in_use(home: Home) -> None:
    with (
        closing(MemoryTable.open(str(home.memories))),
        closing(open_vault(home, Settings())) as vault,
        pytest.raises(StoreInUse),
        open_command_memory(home, Settings(), vault, print) as memory,
    ):
        memory.admin("me")


def test_an_exchange_stored_during_a_rebuild_is_not_lost(filled: MemoryAdmin) -> None:
    memory = filled._memory
    assert memory is not None
    exchange = Exchange("f" * 32, 9, "My bike is green.", START, "Nice.", ended=START)
    memory.remember("another", exchange)
    assert filled.rebuild() == 8
    asyncio.run(memory.settled())

    assert filled.search("bike green", 3).memories[0].text == "My bike is green."
    assert "My bike is green." in texts(filled)


def test_tiers_are_reported_while_the_memories_are_loaded(home: Home, filled: MemoryAdmin) -> None:
    stats = filled.stats()
    assert stats["by_tier"] is not None
    assert sum(stats["by_tier"].values()) == stats["total"]
    shown = filled.show(id_of(filled, "dentist"))
    assert shown["tier"] in set(Tier)
