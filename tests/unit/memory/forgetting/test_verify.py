"""Looking for what was forgotten: planted leaks are found, and a clean home is clean."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assistant.context.conversation import Conversation
from assistant.encryption.keys import MasterKey
from assistant.errors import StoreError
from assistant.memory.forgetting import verify as proof
from assistant.memory.forgetting.audit import AuditReport, audit
from assistant.memory.forgetting.pattern_search import SearchPatterns
from assistant.memory.forgetting.receipts import Receipt
from assistant.memory.forgetting.verify import patterns_of, verify_gone
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.memory import Memory
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import FreePages, Transcript
from assistant.paths import Home
from tests.support.memories import NOW, memory

SECRET = "The silver parrot is hidden behind the third brick, said Xaver."
KEPT = "The weather was fine on Tuesday."
E = "e"


class House:
    """A home with a secret in both its stores."""

    def __init__(self, home: Home, key: MasterKey | None) -> None:
        self.home = home
        self.table = MemoryTable.open(str(home.memories), key=key)
        self.transcript = Transcript.open(home.transcript, key)
        self.table.add_encoder(E, 32)
        self.told = [memory(SECRET), memory(KEPT, at=1)]
        vectors = np.random.default_rng(4).standard_normal((2, 32), dtype=np.float32)
        self.table.add(self.told, {E: vectors})
        talk = Conversation.begin("ada")
        self.exchanges = []
        for turn, text in enumerate((SECRET, KEPT), start=1):
            talk.append_user(turn, text, NOW)
            self.exchanges.append(talk.complete(turn, "I see."))
            self.transcript.store(talk, self.exchanges[-1])
        self.needles = patterns_of(
            self.transcript, "ada", [self.exchanges[0].id], self.table, [self.told[0].id]
        )
        [batch] = self.table.scan("ada", ("id",), (E,), [self.told[0].id])
        self.vector = batch.stored_vectors(E)[0][0].tobytes()

    def forget(self) -> None:
        self.transcript.delete_exchanges("ada", [self.exchanges[0].id])
        self.table.delete("ada", [self.told[0].id])

    def purge(self) -> None:
        self.forget()
        assert self.table.rewrite()

    def prove(self) -> Receipt:
        return verify_gone(self.needles, self.transcript, self.table, exchanges=1, memories=1)

    def audit(self, *texts: str, clean: bool = False) -> AuditReport:
        return audit(self.table, self.transcript, texts, clean=clean)

    def close(self) -> None:
        self.table.close()
        self.transcript.close()


@contextmanager
def built(home: Home, key: MasterKey | None = None) -> Iterator[House]:
    with closing(House(home, key)) as house:
        yield house


@pytest.fixture
def house(home: Home) -> Iterator[House]:
    with built(home) as house:
        yield house


def places(receipt: Receipt) -> list[str]:
    return [place for each in receipt.searched for place in each.found]


@pytest.mark.parametrize("key", [None, MasterKey(b"k" * 32)], ids=["plain", "sealed"])
def test_before_it_is_everywhere_and_after_a_purge_nowhere(
    home: Home, key: MasterKey | None
) -> None:
    with built(home, key) as house:
        before = house.prove()
        assert not before.clean
        assert "a row of the transcript" in places(before)
        assert any("of the memories" in place for place in places(before))
        assert any(".lance" in place for place in places(before))  # the vector's bytes
        house.purge()
        after = house.prove()
        assert after.clean, places(after)
        searched = [each.name for each in after.searched if each.versions]
        assert searched == ["memories", "transcript"]
        assert {each.versions for each in after.searched if each.name == "memories"} == {1}
        assert all(each.bytes for each in after.searched if each.name == "files of memories")
        assert any("encrypted" in sentence for sentence in after.unprovable) == (key is not None)
        assert [each.text for each in house.table.get("ada", [m.id for m in house.told])] == [KEPT]
        audited = house.audit(SECRET, KEPT)
        expected = "A text was found in a row of the transcript."
        assert expected in audited.found
        assert (len(audited.found) > 2) == (key is None)


def test_the_receipt_is_json_without_words(house: House) -> None:
    for receipt in (house.prove(), house.audit(SECRET).receipt):
        written = json.dumps(receipt.as_json())
        assert json.loads(written)["clean"] is False
        assert not any(word in written for word in ("parrot", "silver", "brick", "Xaver"))


def test_an_old_version_of_the_table_is_found(house: House) -> None:
    house.forget()
    receipt = house.prove()
    [memories] = [each for each in receipt.searched if each.name == "memories"]
    assert memories.versions > 1
    assert memories.found
    assert house.audit().removed == 1
    assert "An older version" in house.audit().found[0]


def test_what_compaction_leaves_is_found_by_the_vector(home: Home, house: House) -> None:
    """A row among many: LanceDB lets its fragment be."""
    house.table.add([memory(f"other {n}", at=10 + n) for n in range(60)])
    assert house.table.compact()
    house.forget()
    assert house.table.compact()
    assert house.table.layout().versions == 1
    assert [place for place in places(house.prove()) if place.endswith(".lance")]
    assert any("encoded bytes of 1 row" in sentence for sentence in house.prove().unprovable)
    assert house.table.rewrite()
    assert house.prove().clean


@pytest.mark.parametrize(
    ("checkpointed", "file"), [(True, "transcript.sqlite3"), (False, "transcript.sqlite3-wal")]
)
def test_a_dropped_row_is_found_on_free_pages_and_in_the_log(
    house: House, checkpointed: bool, file: str
) -> None:
    """As an SQLite without secure_delete leaves it."""
    house.purge()
    db = house.transcript._db
    db.execute("PRAGMA secure_delete = OFF")
    db.execute("CREATE TABLE spare (words TEXT)")
    db.execute("INSERT INTO spare VALUES (?)", (SECRET,))
    db.execute("DROP TABLE spare")
    if checkpointed:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert places(house.prove()) == [file]
    assert any("free pages" in sentence for sentence in house.audit().unprovable)
    house.transcript.rewrite()
    assert house.prove().clean
    assert house.transcript.pages() == FreePages(0, 0)


def test_a_line_of_a_log_a_file_in_utf16_and_a_vector_are_found(house: House) -> None:
    house.purge()
    root = house.home.root
    house.home.log.write_text(f"INFO {json.dumps(SECRET)}\n" * 3, "utf-8")
    (root / "wide").write_bytes(
        b"\xff\xfe" + "x".encode("utf-16-le") * 77 + SECRET.encode("utf-16-le")
    )
    (root / "codes").write_bytes(b"\7" * 1001 + house.vector[:80])
    assert sorted(places(house.prove())) == ["codes", "logs/assistant.log", "wide"]
    audited = house.audit()
    assert audited.unknown == ("codes", "wide")
    assert len(audited.found) == 2


def test_what_lies_across_two_pieces_of_a_file_is_found(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "READ_AT_ONCE", 64)
    house.purge()
    (house.home.root / "long").write_bytes(b"." * 40 + SECRET.encode() + b"." * 999)
    assert places(house.prove()) == ["long"]


def test_links_are_not_followed(house: House, tmp_path: Path) -> None:
    house.purge()
    outside = tmp_path / "outside"
    outside.write_text(SECRET)
    (house.home.root / "link").symlink_to(outside)
    (house.home.root / "round").symlink_to(house.home.root)
    assert house.prove().clean
    assert house.audit().unknown == ("link", "round")


def test_a_file_that_cannot_be_read_is_one_sentence(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> Iterator[bytes]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(proof, "_read", refuse)
    with pytest.raises(StoreError, match=r"can't be searched: Permission denied\."):
        house.prove()


def test_locks_of_the_transcript_outlive_the_search(house: House) -> None:
    """A process that closes a file gives back its locks on it."""
    house.transcript._db.execute("BEGIN IMMEDIATE")
    assert list(proof.search_files(house.home, house.needles))
    with (
        closing(sqlite3.connect(house.home.transcript, timeout=0)) as other,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        other.execute("BEGIN IMMEDIATE")
    house.transcript._db.execute("ROLLBACK")


def test_what_stays_is_no_trace_but_for_what_will_change(house: House) -> None:
    """The day is the context of many memories; a quotation goes."""
    day, quotation = "Saturday, 21 November", "as said: the parrot is behind the brick"
    going = replace(memory("A secret about the third parrot."), context=day)
    same = replace(memory("Another thing.", at=5), context=day)
    quoting = replace(memory("Where is it?", at=6), context=quotation)
    twice = replace(memory("Yes, of course I do.", at=7), context=quotation)
    house.table.add([going, same, quoting, twice])
    asked = [going.id, twice.id]
    needles = patterns_of(house.transcript, "ada", (), house.table, asked, [quoting.id])
    assert needles.found_in_text([day]) == set()
    assert len(needles.found_in_text([quotation])) == 1
    unchanged = patterns_of(house.transcript, "ada", (), house.table, asked)
    assert unchanged.found_in_text([quotation]) == set()
    assert len(unchanged.found_in_text([going.text])) == 1


def test_what_is_hidden_already_is_looked_for_all_the_same(house: House) -> None:
    """Only the transcript has its words: no memory was made of it."""
    gone = house.exchanges[0].id
    house.table.delete("ada", [house.told[0].id])
    house.transcript.hide(HiddenItems("h", "ada", NOW, NOW, (gone,), ()))
    needles = patterns_of(house.transcript, "ada", [gone], house.table)
    assert needles.found_in_text([SECRET])
    assert not needles.found_in_text([KEPT])


def test_what_cannot_be_searched_is_said(house: House) -> None:
    (house.home.root / "memories.damaged-20261121-100000").mkdir()
    for sentences in (house.prove().unprovable, house.audit().unprovable):
        assert any("memories.damaged-20261121-100000 was set aside" in each for each in sentences)


def test_who_searches_lets_others_have_a_turn(house: House) -> None:
    turns: list[int] = []
    verify_gone(house.needles, house.transcript, house.table, breathe=lambda: turns.append(1))
    assert len(turns) > 5


# -- the structure ------------------------------------------------------------------------------


def test_clean_leaves_one_version_no_log_and_no_free_page(house: House) -> None:
    house.forget()
    assert house.audit().unprovable
    audited = house.audit(SECRET, clean=True)
    assert audited.found == audited.unprovable == ()
    assert audited.layout.clean
    assert audited.pages == FreePages(0, 0)


def test_ordinary_changes_are_no_finding(house: House) -> None:
    house.purge()
    house.table.add([memory("something new", at=9)])
    changed = house.table.get("ada", [house.told[1].id])
    house.table.update(changed)
    audited = house.audit(SECRET)
    assert audited.found == ()
    assert "older versions left: 2." in audited.unprovable[0]


def test_words_that_were_changed_are_a_finding(house: House) -> None:
    house.purge()
    old = house.told[1]
    house.table.update([Memory(old.id, "ada", old.kind, "other words", old.created)])
    assert house.audit().removed == 1


def test_in_a_folder_elsewhere_the_memories_are_searched_too(home: Home, tmp_path: Path) -> None:
    with (
        closing(MemoryTable.open(str(tmp_path / "elsewhere"))) as table,
        closing(Transcript.open(home.transcript)) as transcript,
    ):
        table.add([memory(KEPT)])
        (tmp_path / "elsewhere" / "stray").write_text(SECRET)
        receipt = verify_gone(SearchPatterns.of([SECRET]), transcript, table)
        assert places(receipt) == [str(tmp_path / "elsewhere" / "stray")]
        assert audit(table, transcript).unknown == (str(tmp_path / "elsewhere" / "stray"),)


def test_an_old_transcript_is_tidied_when_its_last_old_exchange_has_expired(house: House) -> None:
    house.transcript.expire("ada", NOW.replace(year=2100), 9)
    assert house.transcript.pages() == FreePages(0, 0)
