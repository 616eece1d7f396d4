"""The table of memories, plain and encrypted, on real LanceDB in a folder."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

from assistant.encryption.keys import MasterKey
from assistant.language.speakers import ASSISTANT
from assistant.memory.records.memory import MemoryKind
from assistant.memory.store import lance_queries, rewrite
from assistant.memory.store import table as table_module
from assistant.memory.store.table import MemoryTable
from tests.support.memories import NOW, memory, rich, stored

ENCODER = "all-MiniLM-L6-v2"
DIMENSIONS = 8


@pytest.fixture(params=[None, MasterKey(bytes(range(32)))], ids=["plain", "encrypted"])
def table(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[MemoryTable]:
    with closing(MemoryTable.open(str(tmp_path / "memory"), key=request.param)) as opened:
        yield opened


def vectors(count: int, seed: int = 0, dimensions: int = DIMENSIONS) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, dimensions), dtype=np.float32)


def vectors_of(table: MemoryTable, encoder: str = ENCODER) -> dict[str, np.ndarray | None]:
    return {
        key: vector if present else None
        for batch in table.scan("ada", ["id"], vectors=[encoder])
        for key, vector, present in zip(batch.values("id"), *batch.vectors(encoder), strict=True)
    }


def assert_same(found: np.ndarray | None, given: np.ndarray) -> None:
    """An encrypted table rotates its vectors, which changes their last digits."""
    assert found is not None
    np.testing.assert_allclose(found, given, atol=1e-5)


# -- what goes in comes out ---------------------------------------------------------------------


def test_every_field_comes_back_after_a_restart(tmp_path: Path) -> None:
    written = [rich(), memory(at=1)]
    with closing(MemoryTable.open(str(tmp_path / "memory"))) as table:
        table.add(written)
    with closing(MemoryTable.open(str(tmp_path / "memory"))) as table:
        found = stored(table)
    assert found == written
    assert all(type(each.kind) is MemoryKind for each in found)


def test_times_are_stored_as_utc_and_times_without_a_zone_are_refused(
    table: MemoryTable,
) -> None:
    there = NOW.astimezone(timezone(timedelta(hours=9)))
    table.add([replace(memory(), created=there)])
    [found] = stored(table)
    assert found.created == NOW
    assert found.created.tzinfo is UTC
    with pytest.raises(ValueError, match="no zone"):
        table.add([replace(memory(), created=NOW.replace(tzinfo=None))])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?!… —",
        "🙂👩‍👩‍👧🏳️‍🌈",
        "שלום, מה שלומך?",
        "nul \0 byte",
        "'; DROP TABLE memories; --",
        "word " * 209_716,
    ],
    ids=["empty", "punctuation", "emoji", "right to left", "nul", "quotes", "1 MB"],
)
def test_texts_come_back_unchanged(table: MemoryTable, text: str) -> None:
    written = replace(memory(text), context=text)
    table.add([written])
    assert table.get("ada", [written.id]) == [written]
    assert table.update([replace(written, uses=1)]) == 1
    assert stored(table) == [replace(written, uses=1)]


def test_lone_surrogates_are_stored_as_question_marks(table: MemoryTable) -> None:
    written = memory("broken \ud83d end")
    table.add([written])
    assert [each.text for each in stored(table)] == ["broken ? end"]
    table.update([replace(written, uses=1)])
    assert [(each.text, each.uses) for each in stored(table)] == [("broken ? end", 1)]


STRANGE = ["o'brien", 'a"b', "' OR '1'='1", "back\\slash", "nul\0x", "a`b", "--", "%_", "é🙂", " "]


def test_no_name_or_id_can_break_out_of_its_query(table: MemoryTable) -> None:
    table.add_encoder(ENCODER, DIMENSIONS)
    written = [replace(memory(user=name), id=name) for name in STRANGE]
    table.add(written)
    assert table.users() == sorted(STRANGE)
    for one in written:
        name = one.user_id
        assert table.count(name) == 1
        assert stored(table, name) == [one]
        assert table.get(name, STRANGE) == [one]
        assert table.without_vectors(name, ENCODER, 9) == [one]
        assert table.set_vectors(name, ENCODER, [name], vectors(1)) == 1
        assert table.update([replace(one, uses=2)]) == 1
        assert table.delete(name, STRANGE) == 1
        assert table.count(name) == 0
    assert table.users() == []


def test_users_never_see_each_others_memories(table: MemoryTable) -> None:
    ada, bob = memory(), replace(memory("I am Bob."), user_id="bob", id="same")
    same = replace(ada, id="same")
    table.add([same, bob])
    assert table.get("ada", ["same"]) == [same]
    assert table.get("bob", ["same"]) == [bob]
    assert table.update([replace(bob, text="Bob it is.")]) == 1
    assert stored(table, "ada") == [same]
    assert table.delete("bob", ["same"]) == 1
    assert stored(table, "ada") == [same]
    assert stored(table, "bob") == []
    assert table.users() == ["ada"]
    assert (table.count("ada"), table.count("bob"), table.count("eve")) == (1, 0, 0)


def test_a_scan_returns_memories_in_the_order_in_which_they_were_said(table: MemoryTable) -> None:
    written = []
    for turn in range(20):
        said = memory(f"question {turn}", at=turn)
        written += [said, replace(memory(f"answer {turn}", at=turn), speaker=ASSISTANT)]
    shuffled = random.Random(3).sample(written, len(written))
    table.add(shuffled)
    table.update([replace(shuffled[5], uses=1)])  # moves the row
    assert [each.text for each in stored(table)] == [each.text for each in written]


def test_single_columns_can_be_read(table: MemoryTable) -> None:
    table.add([rich(), replace(memory(), created=NOW + timedelta(days=9))])
    [batch] = table.scan("ada", ["created", "last_used", "importance", "uses", "pinned", "sources"])
    assert len(batch) == 2
    assert batch.values("created")[0] == NOW
    assert batch.values("last_used") == [rich().last_used, None]
    assert batch.values("importance") == [0.1, 0.5]
    assert batch.values("uses") == [7, 0]
    assert batch.values("pinned") == [True, False]
    assert batch.values("sources") == [("e1", "e2"), ()]


def test_requests_for_nothing_return_nothing(table: MemoryTable) -> None:
    table.add([])
    assert table.users() == []
    assert stored(table) == []
    assert table.get("ada", ["nothing"]) == []
    assert table.get("ada", []) == []
    assert table.update([]) == table.update([memory()]) == table.delete("ada", []) == 0
    assert table.count("ada") == 0


def test_thousands_of_memories_can_be_handled_in_one_call(
    table: MemoryTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (table_module, lance_queries):
        monkeypatch.setattr(module, "IDS_AT_ONCE", 1_000)
    written = [memory(str(number), at=number) for number in range(4_000)]
    table.add(written)
    ids = [each.id for each in written]
    assert table.get("ada", [ids[3], "absent", *ids, ids[3]]) == [
        written[3],
        *written[:3],
        *written[4:],
    ]
    assert table.update([replace(each, uses=1) for each in written]) == 4_000
    assert table.delete("ada", ids[:3_500]) == 3_500
    assert [each.uses for each in stored(table)] == [1] * 500


# -- vectors ------------------------------------------------------------------------------------


def test_vectors_can_be_added_later_and_are_read_back_exactly(table: MemoryTable) -> None:
    written = [memory(str(number), at=number) for number in range(5)]
    table.add(written[:2])
    table.add_encoder(ENCODER, DIMENSIONS)
    assert table.encoders() == {ENCODER: DIMENSIONS}
    given = vectors(5)
    table.add(written[2:3], {ENCODER: given[2:3]})
    table.add(written[3:])
    assert table.without_vectors("ada", ENCODER, 99) == [*written[:2], *written[3:]]
    assert len(table.without_vectors("ada", ENCODER, 3)) == 3
    ids = [written[3].id, "gone meanwhile", written[0].id]
    assert table.set_vectors("ada", ENCODER, ids, given[[3, 0, 0]]) == 2
    assert table.set_vectors("ada", ENCODER, ["gone"], given[:1]) == 0
    assert table.set_vectors("eve", ENCODER, [written[1].id], given[:1]) == 0
    found = vectors_of(table)
    assert [found[each.id] is None for each in written] == [False, True, False, False, True]
    for number in (0, 2, 3):
        assert_same(found[written[number].id], given[number])
    assert stored(table) == written


def test_a_new_encoder_leaves_the_vectors_of_the_old_one(table: MemoryTable) -> None:
    written = [memory(str(number)) for number in range(3)]
    table.add_encoder(ENCODER, DIMENSIONS)
    table.add(written, {ENCODER: vectors(3)})
    table.add_encoder("org/mpnet base", 16)
    table.add_encoder("org/mpnet base", 16)
    assert len(table.without_vectors("ada", "org/mpnet base", 9)) == 3
    ids = [each.id for each in written]
    table.set_vectors("ada", "org/mpnet base", ids, vectors(3, dimensions=16))
    [batch] = table.scan("ada", ["id"], vectors=[ENCODER, "org/mpnet base"])
    assert batch.vectors(ENCODER)[0].shape == (3, DIMENSIONS)
    assert batch.vectors("org/mpnet base")[0].shape == (3, 16)
    assert table.encoders() == {ENCODER: DIMENSIONS, "org/mpnet base": 16}
    with pytest.raises(KeyError):
        list(table.scan("ada", vectors=["a third"]))


@pytest.mark.parametrize(("name", "dimensions"), [(ENCODER, 16), ("all MiniLM_L6.v2", DIMENSIONS)])
def test_encoders_that_can_be_confused_are_refused(
    table: MemoryTable, name: str, dimensions: int
) -> None:
    table.add_encoder(ENCODER, DIMENSIONS)
    with pytest.raises(ValueError, match="already"):
        table.add_encoder(name, dimensions)


@pytest.mark.parametrize(
    "wrong", [vectors(2), vectors(1, dimensions=7), np.full((1, 8), np.nan, np.float32)]
)
def test_vectors_that_do_not_fit_are_refused_and_nothing_is_written(
    table: MemoryTable, wrong: np.ndarray
) -> None:
    table.add_encoder(ENCODER, DIMENSIONS)
    written = memory()
    with pytest.raises(ValueError, match=r"vector|length"):
        table.add([written], {ENCODER: wrong})
    assert stored(table) == []
    table.add([written])
    with pytest.raises(ValueError, match="vector"):
        table.set_vectors("ada", ENCODER, [written.id], wrong)
    assert vectors_of(table) == {written.id: None}


def test_a_row_keeps_its_vector_until_its_text_changes(table: MemoryTable) -> None:
    table.add_encoder(ENCODER, DIMENSIONS)
    kept, changed = memory("The same."), memory("Before.")
    table.add([kept, changed], {ENCODER: vectors(2)})
    before = vectors_of(table)
    assert table.update([replace(kept, uses=3), replace(changed, text="After.")]) == 2
    found = vectors_of(table)
    np.testing.assert_array_equal(found[kept.id], before[kept.id])
    assert found[changed.id] is None
    assert [each.text for each in table.without_vectors("ada", ENCODER, 9)] == ["After."]


def test_an_update_does_not_restore_deleted_rows(table: MemoryTable) -> None:
    gone, there = memory(), memory()
    table.add([gone, there])
    table.delete("ada", [gone.id])
    assert table.update([replace(gone, uses=1), replace(there, uses=1)]) == 1
    assert stored(table) == [replace(there, uses=1)]


def test_put_replaces_or_adds_rows_and_keeps_their_vectors(table: MemoryTable) -> None:
    table.add_encoder(ENCODER, DIMENSIONS)
    kept, given = memory(), vectors(1)
    table.add([kept], {ENCODER: given})
    other = replace(rich(), user_id="bob")
    assert table.put([replace(kept, uses=1), replace(kept, uses=2), other]) == 2
    assert stored(table) == [replace(kept, uses=2)]
    assert stored(table, "bob") == [other]
    assert_same(vectors_of(table)[kept.id], given[0])


# -- upkeep -------------------------------------------------------------------------------------


def files(tmp_path: Path) -> int:
    return sum(path.is_file() for path in (tmp_path / "memory" / "memories.lance").rglob("*"))


def test_many_small_writes_are_compacted(
    table: MemoryTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewrite, "MOST_FRAGMENTS", 30)
    written = [memory(str(number), at=number) for number in range(30)]
    for one in written[:29]:
        table.add([one])
    wanted = [table.wants_compaction()]
    sooner = [table.wants_compaction(in_silence=True)]
    table.add(written[29:])
    table.delete("ada", [written[0].id])
    wanted.append(table.wants_compaction())
    assert files(tmp_path) > 80
    assert table.compact()
    assert [*wanted, table.wants_compaction()] == [False, True, False]
    assert [*sooner, table.wants_compaction(in_silence=True)] == [True, False]
    assert files(tmp_path) < 10
    assert stored(table) == written[1:]


def test_a_scan_is_not_disturbed_by_compaction(
    table: MemoryTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(table_module, "PATIENCE_S", 0.01)
    for number in range(10):
        table.add([memory(str(number), at=number)])
    scan = table.scan("ada")
    seen = next(scan).values("text")
    assert not table.compact(), "the scan still reads the old version"
    table.add([memory("later", at=99)])
    seen += [text for batch in scan for text in batch.values("text")]
    assert seen == [str(number) for number in range(10)]
    assert table.compact()
    assert table.count("ada") == 11


def test_many_threads_can_use_a_table_at_once(table: MemoryTable) -> None:
    table.add_encoder(ENCODER, DIMENSIONS)

    def work(user: str) -> None:
        for number in range(6):
            written = [memory(f"{number} {part}", user) for part in range(3)]
            table.add(written)
            table.set_vectors(user, ENCODER, [written[0].id], vectors(1))
            table.update([replace(written[1], uses=1)])
            table.delete(user, [written[2].id])
            if number % 3 == 2:
                table.compact()

    with ThreadPoolExecutor() as threads:
        list(threads.map(work, [f"user {number}" for number in range(4)]))
    for number in range(4):
        user = f"user {number}"
        assert sorted(each.uses for each in stored(table, user)) == [0] * 6 + [1] * 6
        assert len(table.without_vectors(user, ENCODER, 99)) == 6
