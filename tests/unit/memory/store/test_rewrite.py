"""Rewriting the table: its files contain nothing that was deleted or changed."""

import random
import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from assistant.encryption.keys import MasterKey
from assistant.errors import StoreError
from assistant.memory.records.arrays import Vectors
from assistant.memory.records.memory import Memory
from assistant.memory.store import rewrite
from assistant.memory.store import table as table_module
from assistant.memory.store.open_table import Table
from assistant.memory.store.rewrite import Layout
from assistant.memory.store.table import MemoryTable
from tests.support.children import Say, child
from tests.support.memories import memory, rich, stored

CLEAN = Layout(1, 0, 0)
E = "An encoder/1"
OTHER = "other"


@pytest.fixture(params=["plain", "encrypted"])
def key(request: pytest.FixtureRequest) -> MasterKey | None:
    return MasterKey(b"k" * 32) if request.param == "encrypted" else None


@pytest.fixture
def memories() -> list[Memory]:
    return [memory(f"said {number}", at=number) for number in range(60)]


@pytest.fixture
def table(tmp_path: Path, key: MasterKey | None, memories: list[Memory]) -> Iterator[MemoryTable]:
    """A table with two encoders, some vectors, and no small writes left to compact."""
    with closing(MemoryTable.open(str(tmp_path / "t"), key=key)) as opened:
        opened.add_encoder(E, 16)
        opened.add_encoder(OTHER, 8)
        opened.add(memories[:50], {E: vectors(50, 16)})
        opened.add(memories[50:])
        assert opened.compact()
        yield opened


def vectors(count: int, dimensions: int) -> Vectors:
    return np.random.default_rng(3).standard_normal((count, dimensions), dtype=np.float32)


def raw(table: MemoryTable, key: str) -> bytes:
    """The bytes of a vector as stored on the disk."""
    [batch] = table.scan("ada", ("id",), (E,), [key])
    return bytes(batch.stored_vectors(E)[0][0].tobytes())


def holding(table: MemoryTable, content: bytes) -> list[str]:
    folder = rewrite.table_folder(table.uri)
    assert folder is not None
    return [
        path.name for path in folder.rglob("*") if path.is_file() if content in path.read_bytes()
    ]


def test_deleted_rows_are_in_no_file_or_version(table: MemoryTable, memories: list[Memory]) -> None:
    gone, kept = memories[7], raw(table, memories[8].id)
    content = raw(table, gone.id)
    assert table.delete("ada", [gone.id]) == 1
    assert table.compact()
    assert holding(table, content)  # which is why compaction isn't enough
    before = stored(table)
    assert table.rewrite()
    assert holding(table, content) == []
    assert holding(table, kept)
    assert table.layout() == CLEAN
    assert table.layout().clean
    assert {number for number, _ in table.versions()} == {max(n for n, _ in table.versions())}
    assert stored(table) == before == [each for each in memories if each is not gone]


def test_columns_fields_and_vectors_are_preserved(
    table: MemoryTable, memories: list[Memory], key: MasterKey | None
) -> None:
    [before] = table.scan("ada", ("id",), (E, OTHER))
    table.update([replace(memories[0], uses=5)])
    assert table.rewrite()
    [after] = table.scan("ada", ("id",), (E, OTHER))
    for encoder in (E, OTHER):
        for one, other in zip(before.vectors(encoder), after.vectors(encoder), strict=True):
            np.testing.assert_array_equal(one, other)
    assert table.encoders() == {E: 16, OTHER: 8}
    assert len(table.without_vectors("ada", E, 99)) == 10
    table.add_encoder(E, 16)  # with the same rotation
    table.add([rich()], {E: vectors(1, 16)})
    table.close()
    with closing(MemoryTable.open(table.uri, key=key)) as again:
        assert again.encoders() == {E: 16, OTHER: 8}
        assert [each.uses for each in again.get("ada", [memories[0].id])] == [5]
        assert again.count("ada") == len(memories) + 1


def test_an_empty_table_can_be_rewritten(table: MemoryTable, memories: list[Memory]) -> None:
    content = raw(table, memories[0].id)
    table.delete("ada", [each.id for each in memories])
    assert table.rewrite()
    assert holding(table, content) == []
    assert table.layout() == CLEAN
    assert table.encoders() == {E: 16, OTHER: 8}
    table.add(memories[:2], {E: vectors(2, 16)})
    assert stored(table) == memories[:2]


def test_rewriting_can_be_repeated_between_writes(
    table: MemoryTable, memories: list[Memory]
) -> None:
    for number in range(5):
        table.add([memory(f"more {number}", at=100 + number)])
        table.set_vectors("ada", OTHER, [memories[number].id], vectors(1, 8))
        assert not table.layout().clean
        assert table.rewrite()
        assert table.rewrite()
        assert table.layout() == CLEAN
    assert len(stored(table)) == len(memories) + 5


def test_old_versions_remain_while_they_are_read(
    table: MemoryTable, memories: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "PATIENCE_S", 0.01)
    reading = table.scan("ada")
    first = next(reading)
    table.delete("ada", [memories[0].id])
    assert not table.rewrite()
    assert table.layout().versions > 1
    assert sum(map(len, reading)) + len(first) == len(memories)
    assert table.rewrite()
    assert table.layout() == CLEAN


def test_rows_added_during_a_rewrite_are_not_lost(
    table: MemoryTable, memories: list[Memory]
) -> None:
    done = threading.Event()
    written: list[Memory] = []

    def write() -> None:
        while not done.is_set():
            written.append(memory(f"meanwhile {len(written)}", at=1_000 + len(written)))
            table.add([written[-1]])

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(4):
        table.rewrite()
    done.set()
    writer.join()
    assert written
    assert stored(table) == [*memories, *written]


def test_old_versions_are_dropped_after_the_clock_was_set_back(
    table: MemoryTable, memories: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewrite, "TINY", timedelta(days=1))
    content = raw(table, memories[0].id)
    table.delete("ada", [memories[0].id])
    assert table.rewrite()
    assert table.layout() == CLEAN
    assert holding(table, content) == []
    assert stored(table) == memories[1:]


def test_a_version_without_its_files_is_skipped(table: MemoryTable, memories: list[Memory]) -> None:
    """Such a version is left by a kill while it is being dropped."""
    folder = rewrite.table_folder(table.uri)
    assert folder is not None
    before = set((folder / "data").iterdir())
    with table._reading() as inner:
        rewrite.copy_over(inner)
    for path in before:
        path.unlink()
    assert table.layout().versions == 2
    assert len({number for number, _ in table.versions()}) == 1
    assert stored(table) == memories
    assert table.rewrite()
    assert table.layout() == CLEAN


def test_a_copy_that_differs_is_rolled_back(
    table: MemoryTable, memories: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy is made as if by a library that loses rows."""

    class Losing:
        def __init__(self, inner: Table) -> None:
            self.inner = inner

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

        def add(self, rows: object, **more: object) -> None:
            del rows
            self.inner.add(self.inner.search().limit(3).to_arrow(), **more)

    real = rewrite.copy_over
    monkeypatch.setattr(rewrite, "copy_over", lambda inner: real(Losing(inner)))
    with pytest.raises(StoreError, match="changed them"):
        table.rewrite()
    assert stored(table) == memories


# -- kill -9 ------------------------------------------------------------------------------------


def rewrite_on(folder: Path, say: Say) -> None:
    table = MemoryTable.open(str(folder))
    say("open")
    for number in range(100_000):
        [batch] = list(table.scan("ada", ("id",)))
        key = batch.values("id")[0]
        table.delete("ada", [key])
        say(key)
        table.rewrite()
        table.add([memory(f"new {number}", at=1_000_000 + number)])


def campaign(folder: Path, kills: int) -> None:
    """After each kill, all rows but the deleted ones exist, and the next rewrite cleans up."""
    chance = random.Random(5)
    with closing(MemoryTable.open(str(folder))) as table:
        table.add_encoder(E, 384)
        table.add([memory(f"said {n}", at=n) for n in range(2_000)], {E: vectors(2_000, 384)})
    for _ in range(kills):
        with closing(MemoryTable.open(str(folder))) as table:
            before = {each.id for each in stored(table)}
        with child(rewrite_on, folder) as dying:
            assert dying.hear() == "open"
            dying.kill_in(chance.uniform(0, 0.5))
            gone = list(dying.rest())
            assert dying.ended() == -signal.SIGKILL
        with closing(MemoryTable.open(str(folder))) as table:
            left = {each.id for each in stored(table)}
            assert (
                len(before - set(gone) - left) <= 1
            )  # the last row may be deleted without being reported
            assert left.isdisjoint(gone)
            assert table.rewrite()
            assert table.layout() == CLEAN
            assert list((folder / "memories.lance").rglob(".*")) == []
            assert {each.id for each in stored(table)} == left
            assert len(table.without_vectors("ada", E, 9_999)) < len(left)


def test_a_kill_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    campaign(tmp_path / "t", 2)


@pytest.mark.long
def test_a_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    campaign(tmp_path / "t", 100)
