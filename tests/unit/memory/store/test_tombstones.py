"""The table of tombstones, which lists what was forgotten and is stored beside the memories."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
import pytest

from assistant.encryption.keys import MasterKey
from assistant.errors import StoreDamaged, StoreError
from assistant.language.speakers import USER
from assistant.memory.forgetting.audit import audit
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from assistant.memory.store import tombstone_table
from assistant.memory.store.table import MemoryTable
from assistant.memory.store.tombstone_table import TombstoneTable
from assistant.memory.store.tombstones import MARK, Tombstones, mark_of, to_mark
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from tests.support.memories import NOW, memory, stored

X, Y = new_id(), new_id()


def turn(exchange: str, *others: str) -> Memory:
    sources = (exchange, *others)
    return Memory(f"{exchange}-{USER}", "ada", MemoryKind.EXCHANGE, "said", NOW, sources=sources)


def fact(*sources: str) -> Memory:
    return Memory(new_id(), "ada", MemoryKind.FACT, "so it is", NOW, sources=sources)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[MemoryTable]:
    with closing(MemoryTable.open(str(tmp_path / "memories"))) as opened:
        yield opened


def again(table: MemoryTable) -> TombstoneTable:
    """The tombstones as the next start reads them."""
    table.close()
    with closing(MemoryTable.open(table.uri)) as opened:
        return opened.forgotten


def versions(table: MemoryTable) -> int:
    return len(list(table.forgotten.versions()))


# -- what gets a tombstone ----------------------------------------------------------------------


def test_own_ids_are_marked_as_they_are_and_foreign_ids_are_hashed() -> None:
    assert mark_of(X) == X
    odd = mark_of("my dog Max")
    assert MARK.fullmatch(odd)
    assert odd == mark_of("my dog Max") != mark_of("my dog Rex")
    assert MARK.fullmatch(mark_of("half a pair: \ud800"))


@pytest.mark.parametrize(
    ("kept", "left"),
    [
        (turn(X), None),
        (turn(X, Y), None),  # its words are those of X
        (turn(Y, X), (Y,)),
        (fact(X), None),
        (fact(X, Y), (Y,)),
        (fact(X, "you"), ("you",)),
        (fact("you"), ("you",)),
        (fact(), ()),
        (replace(fact("you"), id="imported"), None),
    ],
)
def test_a_memory_loses_its_forgotten_sources_or_is_dropped(
    kept: Memory, left: tuple[str, ...] | None
) -> None:
    marks = Tombstones(frozenset({X}), frozenset({mark_of("imported")}))
    found = marks.kept(kept)
    assert (found.sources if found is not None else None) == left
    assert found is None or found == replace(kept, sources=found.sources)


def test_only_memories_not_covered_by_an_exchange_get_their_own_tombstones() -> None:
    by_hand, derived = fact("you"), fact(X, Y)
    said, others = to_mark({X}, [turn(X), fact(X), turn(X, Y), by_hand, derived])
    assert said == {X}
    assert others == {by_hand.id, derived.id}


# -- the table ----------------------------------------------------------------------------------


def test_tombstones_are_written_before_a_purge_and_finished_after_it(table: MemoryTable) -> None:
    mine = fact("you")
    with table.forgotten.during("ada", {X}, [mine]):
        open_now = TombstoneTable(table._db, table.uri, table._changing)
        every = frozenset({X, mine.id})
        assert open_now.of("ada") == Tombstones(frozenset({X}), frozenset({mine.id}), every)
        assert open_now.unfinished
    assert versions(table) == 1
    found = again(table)
    assert found.of("ada") == table.forgotten.of("ada")
    assert found.of("ada").unfinished == frozenset()
    assert found.of("bob") == Tombstones()
    assert len(found) == 2


def test_a_failed_purge_stays_unfinished_and_writes_one_tombstone(table: MemoryTable) -> None:
    with pytest.raises(StoreError), table.forgotten.during("ada", {X}, []):
        raise StoreError("The disk is full.")
    table.forgotten.write([("ada", X, True), ("bob", X, True), ("ada", X, True)])
    [*_, rows] = table.forgotten.versions()
    assert sorted(rows) == [("ada", X), ("bob", X)]
    with table.forgotten.during("ada", {X, Y}, []):
        """This purge succeeds."""
    found = again(table)
    assert found.of("ada").unfinished == frozenset()
    assert found.of("bob").unfinished == {X}, "each user's tombstones are separate"


def test_a_purge_deletes_old_versions_that_a_killed_one_left_without_their_files(
    table: MemoryTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Path(table.uri) / "forgotten.lance" / "data"

    class Killed(BaseException): ...

    def killed_halfway(_: object, **__: object) -> None:
        """Delete a file of an old version, but not yet the version."""
        min(files.iterdir(), key=lambda path: path.stat().st_mtime_ns).unlink()
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(lancedb.table.LanceTable, "optimize", killed_halfway)
        with pytest.raises(Killed), table.forgotten.during("ada", {X}, []):
            """Everything is removed."""
    table.close()
    with closing(MemoryTable.open(table.uri)) as next_start:
        assert next_start.forgotten.of("ada").unfinished == frozenset()
        with pytest.raises(StoreDamaged):
            versions(next_start)
        with next_start.forgotten.during("ada", {X}, []):
            """There is nothing left to remove."""
        assert versions(next_start) == 1


def test_the_table_is_created_only_when_something_is_forgotten(table: MemoryTable) -> None:
    with table.forgotten.during("ada", (), []):
        """Nothing is forgotten."""
    assert not (Path(table.uri) / "forgotten.lance").exists()
    assert list(table.forgotten.versions()) == []
    assert table.forgotten.users() == []


def test_vectors_stay_with_their_memories_when_forgotten_rows_are_skipped(
    table: MemoryTable,
) -> None:
    table.forgotten.write([("ada", X, True)])
    table.add_encoder("e", 4)
    memories = [memory("one"), turn(X), memory("two", at=1)]
    table.add(memories, {"e": np.eye(3, 4, dtype=np.float32)})
    assert stored(table) == [memories[0], memories[2]]
    [batch] = table.scan("ada", ("id",), ("e",))
    np.testing.assert_array_equal(batch.vectors("e")[0], np.eye(3, 4)[[0, 2]])
    table.add([turn(X)], {"e": np.eye(1, 4, dtype=np.float32)})
    assert table.count("ada") == 2


def test_an_encrypted_store_has_tombstones_too(tmp_path: Path) -> None:
    key = MasterKey(b"k" * 32)
    with closing(MemoryTable.open(str(tmp_path), key=key)) as table:
        table.add([turn(X), turn(Y)])
        with table.forgotten.during("ada", {X}, [turn(X)]):
            assert table.delete("ada", [turn(X).id]) == 1
            assert table.rewrite()
    with closing(MemoryTable.open(str(tmp_path), key=key)) as table:
        table.add([turn(X)])
        assert stored(table) == [turn(Y)]


def test_an_audit_checks_the_tombstones(home: Home) -> None:
    word = "parrot"
    with (
        closing(MemoryTable.open(str(home.memories))) as table,
        closing(Transcript.open(home.transcript)) as transcript,
    ):
        with table.forgotten.during("ada", {X}, []):
            [found] = audit(table, transcript).found
            assert found.startswith("Something that you asked to be forgotten is not completely")
        assert audit(table, transcript, [word]).found == ()
        assert audit(table, transcript).unknown == ()
        schema = tombstone_table._schema()
        columns = [["ada"], [word], [False], [True]]
        table._db.open_table("forgotten").add(pa.table(columns, schema=schema))
        found_now = audit(table, transcript, [word]).found
        assert "The list of what was forgotten contains an invalid entry." in found_now
        assert "A text was found in the list of what was forgotten." in found_now


# -- trouble ------------------------------------------------------------------------------------


@pytest.mark.parametrize("harm", ["no manifest", "no data"])
def test_a_store_with_damaged_tombstones_is_not_opened(table: MemoryTable, harm: str) -> None:
    """Otherwise, forgotten exchanges might come back."""
    table.forgotten.write([("ada", X, True)])
    table.close()
    part = "_versions" if harm == "no manifest" else "data"
    for path in (Path(table.uri) / "forgotten.lance" / part).iterdir():
        path.unlink()
    with pytest.raises(StoreDamaged, match="what was forgotten in the memory") as caught:
        MemoryTable.open(table.uri)
    assert "forgotten.lance" in str(caught.value.mend)


def test_reading_is_retried_if_a_version_is_dropped_meanwhile(
    table: MemoryTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.forgotten.write([("ada", X, True)])
    real = TombstoneTable._open
    failed: list[bool] = []

    def gone(self: TombstoneTable) -> Any:
        if len(failed) < 2:
            failed.append(True)
            raise RuntimeError("lance error: Not found: forgotten.lance/data/1.lance")
        return real(self)

    monkeypatch.setattr(TombstoneTable, "_open", gone)
    assert again(table).of("ada").exchanges == {X}
