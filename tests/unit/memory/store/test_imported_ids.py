"""Imported ids may contain words, none of which can be read in an encrypted home."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from assistant.compose.memory import build_rekeying
from assistant.context.conversation import Conversation
from assistant.encryption import keys
from assistant.encryption.keys import MasterKey
from assistant.encryption.vault import Vault, open_vault
from assistant.memory.admin import MemoryAdmin
from assistant.memory.curation.materialize import materialize_exchange
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.ids import ADDED_BY_USER, fact_id, subject_of
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from assistant.memory.records.serialization import to_json
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.store.row_encryption import EncryptedRows, PlainRows
from assistant.memory.store.table import MemoryTable
from assistant.memory.store.tombstones import mark_of
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.desks import forget_now, open_memory_admin
from tests.support.encoders import HashingEncoder
from tests.support.homes import CHEAP_ARGON2, PASSPHRASE, holds, knowing, quietly, settings

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
WORDS = ("divorce", "Tuesday", "lawyer", "Berlin")
NOWHERE: dict[str, list[str]] = {word: [] for word in WORDS}
ASK = knowing(new_passphrase=PASSPHRASE, passphrase=PASSPHRASE)


def fact(key: str, text: str, **more: Any) -> Memory:
    return replace(Memory(key, "me", MemoryKind.FACT, text, START), **more)


FOREIGN = (
    fact(
        "Annas divorce-fact0",
        "She has moved out.",
        conversation="the lawyer",
        sources=("Annas divorce", ADDED_BY_USER),
        supersedes=("call on Tuesday",),
    ),
    fact("call on Tuesday", "She wants to stay.", superseded_by="Annas divorce-fact0"),
    replace(
        fact("Annas divorce-user", "Anna moves out.", sources=("Annas divorce",)),
        kind=MemoryKind.EXCHANGE,
    ),
    replace(
        fact("x-Berlin", "Hello.", speaker="Berlin", sources=("x",)),
        kind=MemoryKind.EXCHANGE,
    ),
)


@pytest.fixture
def vault(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vault]:
    monkeypatch.setattr(keys, "ARGON2", CHEAP_ARGON2)
    with closing(open_vault(home, settings("passphrase"), ASK, create=True)) as opened:
        yield opened


@pytest.fixture
def admin(home: Home, vault: Vault) -> Iterator[MemoryAdmin]:
    with admin_of(home, vault) as opened:
        yield opened


def admin_of(home: Home, vault: Vault | None = None) -> AbstractContextManager[MemoryAdmin]:
    return open_memory_admin(
        home, Settings(), lambda _: QueryEncoder(HashingEncoder()), vault=vault
    )


def own() -> list[Memory]:
    """Memories with every form of id that this program creates."""
    talk = Conversation.begin("me")
    said = "My name is Ada. Call me Ada. Please always answer in short sentences."
    talk.append_user(1, said, START)
    exchange = talk.complete(1, "Good to know.")
    made = materialize_exchange("me", talk.id, exchange)
    assert {each.id.removeprefix(exchange.id) for each in made} >= {
        *("-user", "-assistant", "-name", "-address", "-0-wish"),
    }
    more = {"conversation": talk.id, "sources": (exchange.id,)}
    by_hand = fact(new_id(), "Tea, never coffee.", sources=(ADDED_BY_USER,))
    derived = fact(fact_id(exchange.id, 12), "She is called Ada.", **more)
    return [
        *made,
        replace(derived, supersedes=(by_hand.id,)),
        replace(by_hand, superseded_by=derived.id),
        replace(fact(subject_of(talk.id, 3), "Names.", **more), kind=MemoryKind.SUMMARY),
    ]


def export(admin: MemoryAdmin) -> list[dict[str, Any]]:
    """In order of ids: exported memories of the same moment come in any order."""
    return sorted(admin.export(), key=_id)


def rows(memories: list[Memory] | tuple[Memory, ...]) -> list[dict[str, Any]]:
    return [to_json(each) for each in memories]


# -- replaced ids -------------------------------------------------------------------------------


def test_only_foreign_ids_are_replaced() -> None:
    seal = EncryptedRows(MasterKey(bytes(range(32))))
    ours = own()
    assert seal.named(ours) == ours
    named = seal.named(FOREIGN)
    assert all(word not in repr(replace(each, speaker="")) for each in named for word in WORDS)
    assert seal.named(named) == named
    assert [replace(n, **_ids(f)) for n, f in zip(named, FOREIGN, strict=True)] == [*FOREIGN]
    assert PlainRows().named(FOREIGN) == [*FOREIGN]


def _ids(memory: Memory) -> dict[str, Any]:
    names = ("id", "conversation", "sources", "supersedes", "superseded_by")
    return {name: getattr(memory, name) for name in names}


def test_references_between_replaced_ids_stay_valid() -> None:
    first, second, said, _ = EncryptedRows(MasterKey(bytes(range(32)))).named(FOREIGN)
    assert (first.supersedes, second.superseded_by) == ((second.id,), first.id)
    assert first.sources == (*said.sources, ADDED_BY_USER)
    assert first.id == f"{said.sources[0]}-fact0"
    assert said.id == f"{said.sources[0]}-user"


def test_a_replaced_id_depends_on_key_and_user() -> None:
    names = {
        EncryptedRows(key).named([replace(FOREIGN[1], user_id=user)])[0].id
        for key in (MasterKey(bytes(32)), MasterKey(bytes(range(32))))
        for user in ("me", "kim")
    }
    assert len(names) == 4


# -- importing ----------------------------------------------------------------------------------


def test_no_imported_id_is_readable_in_an_encrypted_home(home: Home, admin: MemoryAdmin) -> None:
    assert admin.import_(rows(FOREIGN)) == len(FOREIGN)
    assert {each["text"] for each in export(admin)} == {each.text for each in FOREIGN}
    assert {word: holds(home.root, word) for word in WORDS} == NOWHERE


def test_an_export_is_imported_unchanged(admin: MemoryAdmin) -> None:
    ours = rows(own())
    assert admin.import_(ours) == len(ours)
    assert export(admin) == sorted(ours, key=_id)

    admin.import_(rows(FOREIGN))
    before = export(admin)
    assert admin.import_(before) == len(before) == len(ours) + len(FOREIGN)
    assert export(admin) == before, "the new ids are our own"
    assert admin.import_(rows(FOREIGN)) == len(FOREIGN)
    assert export(admin) == before, "the same file gets the same ids"
    assert admin.import_([*before, *rows(FOREIGN)]) == len(before)
    assert export(admin) == before
    found = [each.text for each in admin.search("Who has moved out?", 9).memories]
    assert found.count("She has moved out.") == 1


def test_an_unencrypted_home_keeps_foreign_ids(home: Home) -> None:
    with admin_of(home) as admin:
        admin.import_(rows(FOREIGN))
        assert export(admin) == sorted(rows(FOREIGN), key=_id)


def _id(row: dict[str, Any]) -> str:
    return str(row["id"])


# -- forgetting ---------------------------------------------------------------------------------


def test_a_forgotten_memory_is_not_imported_under_its_old_id(admin: MemoryAdmin) -> None:
    admin.import_(rows(FOREIGN))
    forget_now(admin, [_named(admin, "She wants to stay.")])
    assert admin.import_(rows(FOREIGN)) == len(FOREIGN) - 1
    assert "She wants to stay." not in {row["text"] for row in export(admin)}


def test_a_memory_forgotten_before_ids_were_replaced_is_not_imported(admin: MemoryAdmin) -> None:
    admin._table.forgotten.write([("me", mark_of("call on Tuesday"), False)], finished=True)
    assert admin.import_(rows(FOREIGN)) == len(FOREIGN) - 1


def test_a_hidden_memory_is_not_imported(home: Home, admin: MemoryAdmin, vault: Vault) -> None:
    """Its id dates from before the home was encrypted."""
    admin._table.add(FOREIGN)
    with closing(Transcript.open(home.transcript, vault.key)) as transcript:
        now = datetime.now(UTC)
        transcript.hide(HiddenItems.of("me", (), ("call on Tuesday",), now, timedelta(hours=1)))
    assert admin.import_(rows(FOREIGN)) == len(FOREIGN) - 1
    assert "She wants to stay." not in {row["text"] for row in export(admin)}
    assert [each.id for each in admin._table.get("me", ["call on Tuesday"])] == ["call on Tuesday"]


def _named(admin: MemoryAdmin, text: str) -> str:
    return next(str(row["id"]) for row in export(admin) if row["text"] == text)


# -- a home that becomes encrypted --------------------------------------------------------------


def test_ids_from_before_encryption_are_reported_and_replaced_by_an_import(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "ARGON2", CHEAP_ARGON2)
    with closing(MemoryTable.open(str(home.memories))) as table:
        table.add([*FOREIGN, *own()])
    lines: list[str] = []
    build_rekeying(home, settings()).enable("passphrase", ASK, quietly, lines.append)
    assert lines[-1].startswith(f"{len(FOREIGN)} memories have ids from another program")
    assert holds(home.memories, "lawyer") != []

    with closing(open_vault(home, settings(), ASK)) as vault, admin_of(home, vault) as admin:
        before = export(admin)
        admin.import_(before)
        assert len(export(admin)) == len(before)
        assert admin._table.rewrite()
        assert {word: holds(home.root, word) for word in WORDS} == NOWHERE


def test_own_ids_are_not_reported(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "ARGON2", CHEAP_ARGON2)
    with closing(MemoryTable.open(str(home.memories))) as table:
        table.add(own())
    lines: list[str] = []
    build_rekeying(home, settings()).enable("passphrase", ASK, quietly, lines.append)
    assert lines == ["The transcript …", "The memories …"]
