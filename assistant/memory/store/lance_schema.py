"""The columns of the memory table, and the conversion between memories and Arrow rows.

The columns are the fields of `Memory`, `schema_version` (of the program that wrote the row) and one
nullable vector column per encoder. PyArrow is imported when it is first needed, because the import
takes a third of a second.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assistant.errors import StoreDamaged
from assistant.memory.records.arrays import Vectors
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.records.serialization import (
    COUNTS,
    FIELDS,
    FLAGS,
    LISTS,
    NUMBERS,
    TIMES,
)
from assistant.memory.records.stored_values import microseconds, storable, time_of

if TYPE_CHECKING:
    import pyarrow as pa

TEXTS = frozenset({"text", "context", "speaker", "conversation"})
KEY = ("user_id", "id")
"""The columns that together identify a row."""

SINCE_2 = frozenset({"refreshed", "separate"})
"""Fields that were added in version 2 of the table."""

SCHEMA_VERSION = b"schema_version"
"""Metadata key of the column `id`: the version of the table's schema."""
ENCODER = b"encoder"
"""Metadata key of a vector column: the encoder's exact name."""
KEY_ID = b"key"
"""Metadata key of the column `id`: the id of the encryption key."""
ROTATION_CHECK = b"rotation_check"
"""Metadata key of a vector column whose vectors are rotated: the check value of the rotation (see
`row_encryption`)."""


def first_schema() -> "pa.Schema":
    """Return the columns of version 1."""
    import pyarrow as pa

    return pa.schema([field for field in schema() if field.name not in SINCE_2])


@cache
def schema() -> "pa.Schema":
    """Return all columns except the vectors. Times are microseconds since 1970 in UTC."""
    import pyarrow as pa

    text, moment = pa.string(), pa.timestamp("us", tz="UTC")
    types: dict[str, pa.DataType] = dict.fromkeys(FIELDS, text)
    types |= dict.fromkeys(TIMES, moment)
    types |= dict.fromkeys(LISTS, pa.list_(text))
    types |= dict.fromkeys(NUMBERS, pa.float64())
    types |= dict.fromkeys(COUNTS, pa.int64())
    types |= dict.fromkeys(FLAGS, pa.bool_())
    types["schema_version"] = pa.int32()
    return pa.schema([pa.field(name, kind) for name, kind in types.items()])


def vector_field(encoder: str, dimensions: int, check: str = "") -> "pa.Field":
    """Return the column for an encoder's vectors. Its name is a simplified form of the encoder's
    name; its metadata has the exact name.

    Args:
        check: the check value of the rotation; empty if vectors are not rotated.
    """
    import pyarrow as pa

    plain = re.sub(r"[^a-z0-9]+", "_", encoder.lower()).strip("_")
    return pa.field(
        f"vector_{plain}_{dimensions}",
        pa.list_(pa.float32(), dimensions),
        metadata={ENCODER: encoder.encode()} | ({ROTATION_CHECK: check.encode()} if check else {}),
    )


def vector_fields(schema: "pa.Schema") -> "dict[str, pa.Field]":
    """Return the vector columns by the names of their encoders."""
    return {
        field.metadata[ENCODER].decode(): field
        for field in schema
        if field.metadata and ENCODER in field.metadata
    }


def rows(memories: Sequence[Memory], version: int) -> "pa.Table":
    """Convert memories to rows without vectors.

    Lone surrogates in texts, which a broken terminal may send, become question marks, because they
    have no UTF-8 form.

    Raises:
        ValueError: a time has no time zone, or an id has no UTF-8 form.
    """
    import pyarrow as pa

    columns: list[Any] = []
    for field in schema():
        if field.name == "schema_version":
            values: list[Any] = [version] * len(memories)
        else:
            values = [getattr(memory, field.name) for memory in memories]
        if field.name in TIMES:
            moments = [None if value is None else microseconds(value) for value in values]
            columns.append(pa.array(moments, field.type))
        elif field.name in TEXTS:
            columns.append(pa.array([storable(value) for value in values], field.type))
        else:
            columns.append(pa.array(values, field.type))
    return pa.Table.from_arrays(columns, schema=schema())


def vector_column(field: "pa.Field", vectors: Vectors) -> "pa.Array":
    """Convert vectors to a column.

    Raises:
        ValueError: the shape is not (rows, the field's dimensions), or a number is not finite.
    """
    import pyarrow as pa

    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    dimensions = field.type.list_size
    if vectors.ndim != 2 or vectors.shape[1] != dimensions:
        raise ValueError(f"vectors of shape {vectors.shape} don't fit {dimensions} dimensions")
    if not np.isfinite(vectors).all():
        raise ValueError("a vector holds a number that is not finite")
    return pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), type=field.type)


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a scan, as Arrow columns."""

    columns: "pa.RecordBatch"
    turn_back: Callable[[str, Vectors], Vectors]
    """Undoes the rotation of an encoder's stored vectors."""

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    def memories(self) -> list[Memory]:
        """Return the rows as memories. The scan must have requested all fields."""
        return memories(self.columns)

    def values(self, name: str) -> list[Any]:
        """Return one field of each row, with the type that it has in `Memory`."""
        return _values(self.columns, name)

    def vectors(self, encoder: str) -> tuple[Vectors, NDArray[np.bool_]]:
        """Return the vectors, shape (rows, dimensions), and for each row whether it has one.
        Missing vectors are zeros.

        Raises:
            KeyError: the scan did not request this encoder.
        """
        found, present = self.stored_vectors(encoder)
        return self.turn_back(encoder, found), present

    def stored_vectors(self, encoder: str) -> tuple[Vectors, NDArray[np.bool_]]:
        """Return the same as `vectors`, but with the vectors as stored on disk, which may be
        rotated."""
        column = self.columns.column(vector_fields(self.columns.schema)[encoder].name)
        present = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)
        dimensions = column.type.list_size
        if present.all():
            flat = column.flatten().to_numpy(zero_copy_only=False)
            return flat.reshape(-1, dimensions), present
        found = np.zeros((len(column), dimensions), np.float32)
        found[present] = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, dimensions)
        return found, present


def memories(columns: "pa.RecordBatch | pa.Table") -> list[Memory]:
    """Convert rows to memories.

    Raises:
        StoreDamaged: a row contains an impossible value. The table has no checksums, so some damage
            is only found here.
    """
    try:
        values = [_values(columns, name) for name in FIELDS]
    except (ValueError, OverflowError, TypeError) as error:
        raise StoreDamaged(
            f"A memory on disk is damaged: {error}.", mend="Repair it: assistant memory rebuild"
        ) from error
    return [Memory(*row) for row in zip(*values, strict=True)]


def _values(columns: "pa.RecordBatch | pa.Table", name: str) -> list[Any]:
    import pyarrow as pa

    column = columns.column(name)
    if name in TIMES:
        return [_time(value) for value in column.cast(pa.int64()).to_pylist()]
    values: list[Any]
    if name in LISTS:
        return [tuple(value) for value in column.to_pylist()]
    # to_numpy is three times as fast for text, but turns integers into floats if there are nulls.
    plain = column.null_count == 0 or column.type == pa.string()
    values = column.to_numpy(zero_copy_only=False).tolist() if plain else column.to_pylist()
    if name == "kind":
        return [MemoryKind(value) for value in values]
    return values


def _time(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else time_of(microseconds)
