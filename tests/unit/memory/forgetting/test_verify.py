"""The search for forgotten text finds planted leaks, and finds nothing in a clean home."""

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


class PlantedHome:
    """A home with a secret in both its transcript and its memories."""

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
def built(home: Home, key: MasterKey | None = None) -> Iterator[PlantedHome]:
    with closing(PlantedHome(home, key)) as planted:
        yield planted


@pytest.fixture
def planted(home: Home) -> Iterator[PlantedHome]:
    with built(home) as planted:
        yield planted


def places(receipt: Receipt) -> list[str]:
    return [place for each in receipt.searched for place in each.found]


@pytest.mark.parametrize("key", [None, MasterKey(b"k" * 32)], ids=["plain", "encrypted"])
def test_the_secret_is_found_everywhere_before_a_purge_and_nowhere_after_it(
    home: Home, key: MasterKey | None
) -> None:
    with built(home, key) as planted:
        before = planted.prove()
        assert not before.clean
        assert "a row of the transcript" in places(before)
        assert any("of the memories" in place for place in places(before))
        assert any(".lance" in place for place in places(before))  # the vector's bytes
        planted.purge()
        after = planted.prove()
        assert after.clean, places(after)
        searched = [each.name for each in after.searched if each.versions]
        assert searched == ["memories", "transcript"]
        assert {each.versions for each in after.searched if each.name == "memories"} == {1}
        assert all(each.bytes for each in after.searched if each.name == "files of memories")
        assert any("encrypted" in sentence for sentence in after.unprovable) == (key is not None)
        assert [each.text for each in planted.table.get("ada", [m.id for m in planted.told])] == [
            KEPT
        ]
        audited = planted.audit(SECRET, KEPT)
        expected = "A text was found in a row of the transcript."
        assert expected in audited.found
        assert (len(audited.found) > 2) == (key is None)


def test_the_receipt_is_json_and_quotes_no_text(planted: PlantedHome) -> None:
    for receipt in (planted.prove(), planted.audit(SECRET).receipt):
        written = json.dumps(receipt.as_json())
        assert json.loads(written)["clean"] is False
        assert not any(word in written for word in ("parrot", "silver", "brick", "Xaver"))


def test_an_old_version_of_the_table_is_found(planted: PlantedHome) -> None:
    planted.forget()
    receipt = planted.prove()
    [memories] = [each for each in receipt.searched if each.name == "memories"]
    assert memories.versions > 1
    assert memories.found
    assert planted.audit().removed == 1
    assert "An older version" in planted.audit().found[0]


def test_a_row_that_compaction_leaves_behind_is_found_by_its_vector(
    home: Home, planted: PlantedHome
) -> None:
    """LanceDB does not rewrite a fragment in which only one row of many is deleted."""
    planted.table.add([memory(f"other {n}", at=10 + n) for n in range(60)])
    assert planted.table.compact()
    planted.forget()
    assert planted.table.compact()
    assert planted.table.layout().versions == 1
    assert [place for place in places(planted.prove()) if place.endswith(".lance")]
    assert any("encoded bytes of 1 row" in sentence for sentence in planted.prove().unprovable)
    assert planted.table.rewrite()
    assert planted.prove().clean


@pytest.mark.parametrize(
    ("checkpointed", "file"), [(True, "transcript.sqlite3"), (False, "transcript.sqlite3-wal")]
)
def test_a_dropped_row_is_found_on_free_pages_and_in_the_log(
    planted: PlantedHome, checkpointed: bool, file: str
) -> None:
    """An SQLite without secure_delete leaves such rows behind."""
    planted.purge()
    db = planted.transcript._db
    db.execute("PRAGMA secure_delete = OFF")
    db.execute("CREATE TABLE spare (words TEXT)")
    db.execute("INSERT INTO spare VALUES (?)", (SECRET,))
    db.execute("DROP TABLE spare")
    if checkpointed:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert places(planted.prove()) == [file]
    assert any("free pages" in sentence for sentence in planted.audit().unprovable)
    planted.transcript.rewrite()
    assert planted.prove().clean
    assert planted.transcript.pages() == FreePages(0, 0)


def test_a_log_line_a_utf16_file_and_a_vector_are_found(planted: PlantedHome) -> None:
    planted.purge()
    root = planted.home.root
    planted.home.log.write_text(f"INFO {json.dumps(SECRET)}\n" * 3, "utf-8")
    (root / "wide").write_bytes(
        b"\xff\xfe" + "x".encode("utf-16-le") * 77 + SECRET.encode("utf-16-le")
    )
    (root / "codes").write_bytes(b"\7" * 1001 + planted.vector[:80])
    assert sorted(places(planted.prove())) == ["codes", "logs/assistant.log", "wide"]
    audited = planted.audit()
    assert audited.unknown == ("codes", "wide")
    assert len(audited.found) == 2


def test_a_text_that_spans_two_pieces_of_a_file_is_found(
    planted: PlantedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "READ_AT_ONCE", 64)
    planted.purge()
    (planted.home.root / "long").write_bytes(b"." * 40 + SECRET.encode() + b"." * 999)
    assert places(planted.prove()) == ["long"]


def test_links_are_not_followed(planted: PlantedHome, tmp_path: Path) -> None:
    planted.purge()
    outside = tmp_path / "outside"
    outside.write_text(SECRET)
    (planted.home.root / "link").symlink_to(outside)
    (planted.home.root / "round").symlink_to(planted.home.root)
    assert planted.prove().clean
    assert planted.audit().unknown == ("link", "round")


def test_an_unreadable_file_is_reported_in_one_sentence(
    planted: PlantedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> Iterator[bytes]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(proof, "_read", refuse)
    with pytest.raises(StoreError, match=r"can't be searched: Permission denied\."):
        planted.prove()


def test_the_transcript_is_still_locked_after_the_search(planted: PlantedHome) -> None:
    """Closing any handle of a file releases all of the process's locks on it."""
    planted.transcript._db.execute("BEGIN IMMEDIATE")
    assert list(proof.search_files(planted.home, planted.needles))
    with (
        closing(sqlite3.connect(planted.home.transcript, timeout=0)) as other,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        other.execute("BEGIN IMMEDIATE")
    planted.transcript._db.execute("ROLLBACK")


def test_text_in_other_memories_is_searched_for_only_if_those_will_change(
    planted: PlantedHome,
) -> None:
    """The day is the context of many memories; a quotation of the forgotten text is removed."""
    day, quotation = "Saturday, 21 November", "as said: the parrot is behind the brick"
    going = replace(memory("A secret about the third parrot."), context=day)
    same = replace(memory("Another thing.", at=5), context=day)
    quoting = replace(memory("Where is it?", at=6), context=quotation)
    twice = replace(memory("Yes, of course I do.", at=7), context=quotation)
    planted.table.add([going, same, quoting, twice])
    asked = [going.id, twice.id]
    needles = patterns_of(planted.transcript, "ada", (), planted.table, asked, [quoting.id])
    assert needles.found_in_text([day]) == set()
    assert len(needles.found_in_text([quotation])) == 1
    unchanged = patterns_of(planted.transcript, "ada", (), planted.table, asked)
    assert unchanged.found_in_text([quotation]) == set()
    assert len(unchanged.found_in_text([going.text])) == 1


def test_an_exchange_that_is_already_hidden_is_searched_for_as_well(planted: PlantedHome) -> None:
    """Only the transcript has its words: no memory was derived from it."""
    gone = planted.exchanges[0].id
    planted.table.delete("ada", [planted.told[0].id])
    planted.transcript.hide(HiddenItems("h", "ada", NOW, NOW, (gone,), ()))
    needles = patterns_of(planted.transcript, "ada", [gone], planted.table)
    assert needles.found_in_text([SECRET])
    assert not needles.found_in_text([KEPT])


def test_places_that_cannot_be_searched_are_reported(planted: PlantedHome) -> None:
    (planted.home.root / "memories.damaged-20261121-100000").mkdir()
    for sentences in (planted.prove().unprovable, planted.audit().unprovable):
        assert any("memories.damaged-20261121-100000 was set aside" in each for each in sentences)


def test_a_search_regularly_yields_to_other_work(planted: PlantedHome) -> None:
    turns: list[int] = []
    verify_gone(planted.needles, planted.transcript, planted.table, breathe=lambda: turns.append(1))
    assert len(turns) > 5


# -- the structure ------------------------------------------------------------------------------


def test_clean_leaves_one_version_no_log_and_no_free_page(planted: PlantedHome) -> None:
    planted.forget()
    assert planted.audit().unprovable
    audited = planted.audit(SECRET, clean=True)
    assert audited.found == audited.unprovable == ()
    assert audited.layout.clean
    assert audited.pages == FreePages(0, 0)


def test_ordinary_changes_are_not_reported_as_findings(planted: PlantedHome) -> None:
    planted.purge()
    planted.table.add([memory("something new", at=9)])
    changed = planted.table.get("ada", [planted.told[1].id])
    planted.table.update(changed)
    audited = planted.audit(SECRET)
    assert audited.found == ()
    assert "older versions left: 2." in audited.unprovable[0]


def test_replaced_words_in_an_older_version_are_reported(planted: PlantedHome) -> None:
    planted.purge()
    old = planted.told[1]
    planted.table.update([Memory(old.id, "ada", old.kind, "other words", old.created)])
    assert planted.audit().removed == 1


def test_memories_outside_the_home_are_searched_too(home: Home, tmp_path: Path) -> None:
    with (
        closing(MemoryTable.open(str(tmp_path / "elsewhere"))) as table,
        closing(Transcript.open(home.transcript)) as transcript,
    ):
        table.add([memory(KEPT)])
        (tmp_path / "elsewhere" / "stray").write_text(SECRET)
        receipt = verify_gone(SearchPatterns.of([SECRET]), transcript, table)
        assert places(receipt) == [str(tmp_path / "elsewhere" / "stray")]
        assert audit(table, transcript).unknown == (str(tmp_path / "elsewhere" / "stray"),)


def test_a_transcript_has_no_free_pages_once_its_last_old_exchange_has_expired(
    planted: PlantedHome,
) -> None:
    planted.transcript.expire("ada", NOW.replace(year=2100), 9)
    assert planted.transcript.pages() == FreePages(0, 0)
