"""Builds queries on the memory table."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from assistant.memory.records.memory import Memory
from assistant.memory.store.lance_schema import KEY, vector_fields
from assistant.memory.store.open_table import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from lancedb.expr import Expr

IDS_AT_ONCE = 10_000
"""Maximum number of ids in one query's condition."""
SAID = [
    {"column_name": "created", "ascending": True, "nulls_first": False},
    # Descending, so that "user" comes before "assistant".
    {"column_name": "speaker", "ascending": False, "nulls_first": False},
    {"column_name": "id", "ascending": True, "nulls_first": False},
]
"""Sort order of rows: the order in which they were said."""


def condition(user_id: str, ids: Sequence[str] | None = None) -> "Expr":
    """Return a condition that selects a user's rows, or only those with these ids. It is an
    expression object, so no text is inserted into a query string."""
    from lancedb.expr import col, lit

    found = col("user_id") == lit(user_id)
    return found if ids is None else found & col("id").isin(ids)


def chunks(items: Sequence[str], size: int) -> list[Sequence[str]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def by_user(memories: Iterable[Memory]) -> dict[str, list[Memory]]:
    """Group memories by user. If an id occurs several times, only the last memory with that id is
    kept."""
    users: dict[str, dict[str, Memory]] = {}
    for memory in memories:
        users.setdefault(memory.user_id, {})[memory.id] = memory
    return {user: list(those.values()) for user, those in users.items()}


def rows_of(table: Table, user_id: str, ids: Sequence[str]) -> "pa.Table":
    """Return the existing rows with these ids, in the form in which they are stored."""
    import pyarrow as pa

    pieces = chunks(ids, IDS_AT_ONCE) or [[]]
    return pa.concat_tables(
        [table.search().where(condition(user_id, some)).to_arrow() for some in pieces]
    )


def with_vectors(new: "pa.Table", old: "pa.Table", kept: Sequence[int | None]) -> "pa.Table":
    """Return the new rows with vectors copied from old rows.

    Args:
        kept: for each new row, the position of the old row whose vectors it gets; None for no
            vectors.
    """
    import pyarrow as pa

    places = pa.array(kept, pa.int64())
    for field in vector_fields(old.schema).values():
        new = new.append_column(field, old.column(field.name).take(places))
    return new


def merge(table: Table, rows: "pa.Table", *, insert: bool = False) -> None:
    """Replace the rows that have the same keys as the given rows.

    Args:
        insert: also insert rows whose keys don't exist yet; otherwise they are skipped.
    """
    merging = table.merge_insert(list(KEY)).when_matched_update_all()
    merging = merging.when_not_matched_insert_all() if insert else merging
    # LanceDB treats missing vectors as bad ones. They must be stored as null.
    merging.execute(rows, on_bad_vectors="null")
