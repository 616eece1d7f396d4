"""The encryption of the table: nothing in it is readable, and it opens only with its key."""

import dataclasses
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import lancedb
import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.encryption.keys import MasterKey
from assistant.errors import StoreError, StoreLocked
from assistant.memory.store.lance_schema import first_schema, rows
from assistant.memory.store.row_encryption import COLUMNS, EncryptedRows
from assistant.memory.store.table import MemoryTable
from tests.support.memories import memory, rich, stored

KEY = MasterKey(bytes(range(32)))
ENCODER, DIMENSIONS = "e", 96


@pytest.fixture
def table(tmp_path: Path) -> Iterator[MemoryTable]:
    opened = MemoryTable.open(str(tmp_path), key=KEY)
    opened.add_encoder(ENCODER, DIMENSIONS)
    yield opened
    opened.close()


def vectors(count: int) -> NDArray[np.float32]:
    drawn = np.random.default_rng(3).normal(size=(count, DIMENSIONS)).astype(np.float32)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def test_no_text_and_no_vector_is_readable_in_the_table(table: MemoryTable, tmp_path: Path) -> None:
    said = rich("the zebra")
    said = dataclasses.replace(said, speaker="Quixote")
    table.add([said, memory("the zebra")], {ENCODER: vectors(2)})

    found = lancedb.connect(tmp_path).open_table("memories").to_arrow().to_pylist()
    everything = repr(found)
    assert "zebra" not in everything
    assert "sentence before" not in everything
    assert "Quixote" not in everything
    assert found[0]["text"] != found[1]["text"]
    plain = vectors(2)[0]
    assert abs(np.dot(plain, np.array(found[0]["vector_e_96"]))) < 0.5


def test_every_column_that_can_hold_text_is_encrypted() -> None:
    """Whoever adds a field must decide whether it is encrypted."""
    schema = first_schema()
    texts = {field.name for field in schema if "string" in str(field.type)}
    ids = {"id", "user_id", "kind", "conversation", "sources", "supersedes", "superseded_by"}

    assert texts == {*COLUMNS} | ids


def test_rotation_preserves_nearest_neighbours(table: MemoryTable) -> None:
    """LanceDB can search the rotated vectors."""
    seal = EncryptedRows(KEY)
    some = vectors(40)
    turned = seal.turn(ENCODER, some)

    np.testing.assert_allclose(turned @ turned.T, some @ some.T, atol=2e-6)
    np.testing.assert_allclose(seal.turn_back(ENCODER, turned), some, atol=1e-6)


def test_the_rotation_is_the_same_everywhere_and_each_encoder_has_its_own() -> None:
    seal, other = EncryptedRows(KEY), EncryptedRows(MasterKey.new())
    known = [-0.1722549, 1.1631983, -1.0769211, 0.0462395]

    np.testing.assert_allclose(
        [float(n) for n in seal.check("MiniLM", 384).split()], known, atol=1e-5
    )
    one = vectors(1)
    assert not np.allclose(seal.turn("a", one), seal.turn("b", one), atol=0.01)
    assert not np.allclose(seal.turn("a", one), other.turn("a", one), atol=0.01)


def test_vectors_rotated_differently_are_dropped(
    table: MemoryTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.add([memory()], {ENCODER: vectors(1)})
    table.add_encoder(ENCODER, DIMENSIONS)
    table.compact()
    table.add_encoder(ENCODER, DIMENSIONS)
    assert table.without_vectors("ada", ENCODER, 9) == []

    monkeypatch.setattr(EncryptedRows, "check", lambda *_: "0.1 0.2 0.3 0.4")
    table.add_encoder(ENCODER, DIMENSIONS)

    assert len(table.without_vectors("ada", ENCODER, 9)) == 1


def test_a_value_moved_to_another_row_is_refused() -> None:
    seal = EncryptedRows(KEY)
    mine, other = memory("mine"), memory("other")
    closed = seal.close(rows([mine, other], 1))
    names = closed.schema.get_field_index("text")
    swapped = closed.set_column(names, closed.schema.field("text"), closed.column("text")[::-1])

    assert seal.open(closed, "ada").column("text").to_pylist() == ["mine", "other"]
    with pytest.raises(RuntimeError, match="does not decrypt"):
        seal.open(swapped, "ada")
    with pytest.raises(RuntimeError, match="does not decrypt"):
        seal.open(closed, "bob")


def test_a_damaged_value_is_reported_as_damage(tmp_path: Path) -> None:
    with closing(MemoryTable.open(str(tmp_path), key=KEY)) as table:
        table.add([memory()])
    lancedb.connect(tmp_path).open_table("memories").update(values={"text": "AAAA"})

    with (
        closing(MemoryTable.open(str(tmp_path), key=KEY)) as table,
        pytest.raises(StoreError, match="is damaged") as refused,
    ):
        stored(table)
    assert "rebuild" in str(refused.value.mend)


@pytest.mark.parametrize("key", [None, MasterKey(bytes(32))])
def test_an_encrypted_table_opens_only_with_its_key(tmp_path: Path, key: MasterKey | None) -> None:
    table = MemoryTable.open(str(tmp_path), key=KEY)
    table.add([memory()])
    table.close()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}

    with pytest.raises(StoreLocked, match="is encrypted"):
        MemoryTable.open(str(tmp_path), key=key)

    assert (
        before.items() <= {p: p.read_bytes() for p in tmp_path.rglob("*.*") if p.is_file()}.items()
    )
    MemoryTable.open(str(tmp_path), key=KEY).close()


def test_an_unencrypted_table_is_not_opened_with_a_key(tmp_path: Path) -> None:
    table = MemoryTable.open(str(tmp_path))
    table.add([memory()])
    table.close()

    with pytest.raises(StoreLocked, match="is not encrypted"):
        MemoryTable.open(str(tmp_path), key=KEY)
