"""The tombstones of a store: the ids of everything forgotten in it, in a small table beside the
memories.

Another machine that shares the store may have the same exchange in its own transcript or write
queue, and would create the exchange's memories again. So a purge first writes tombstones here, then
removes the rows, and finally records here that it is done. Every machine that opens the store reads
the tombstones first. It never writes an exchange or memory with a tombstone again (see
`MemoryTable`), and also deletes it from its own transcript (see `forgetting.purge`). If a purge was
killed half-way, the next writer finishes it.

A folder that only one machine uses has this table too, since one mechanism is simpler than two. The
table slows startup by 0.4 ms without tombstones, by 3 to 6 ms with 1,000, and by 15 ms with
10,000. Tombstones are not stored in the metadata of the memory table, because this metadata is
rewritten with every change. They contain nothing secret, so they are not encrypted. They are never
deleted. Each purge drops the table's old versions, which also contain only ids.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assistant.errors import StoreDamaged
from assistant.memory.records.arrays import Vectors
from assistant.memory.records.memory import Memory
from assistant.memory.store.lance_errors import explained
from assistant.memory.store.lance_queries import IDS_AT_ONCE, chunks
from assistant.memory.store.open_table import Table, folder_of
from assistant.memory.store.rewrite import TINY
from assistant.memory.store.tombstones import MARK, Tombstones, to_mark

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "forgotten"
TRIES = 3
"""Number of attempts to read the table. One may fail because a writer drops the version being
read."""

Row = tuple[str, str, bool]
"""The user, the mark (see `mark_of`), and whether it is the mark of an exchange, not of a
memory."""


class TombstoneTable:
    """The tombstones of a store. Thread-safe. All tombstones that were read or written are also in
    RAM.

    Args:
        changing: a context manager that gives one thread at a time the right to write to the store.

    Raises:
        StoreError: the table can't be read.
    """

    def __init__(
        self, db: Any, uri: str, changing: Callable[[], AbstractContextManager[object]]
    ) -> None:
        self._db = db
        self._uri = uri
        self._changing = changing
        self._known: Mapping[str, Tombstones] = self._read()
        """Tombstones by user. The mapping is replaced as a whole, so it can be read without a
        lock."""

    # -- in memory: any thread, without waiting -------------------------------------------------

    def __len__(self) -> int:
        return sum(map(len, self._known.values()))

    def of(self, user: str) -> Tombstones:
        return self._known.get(user, Tombstones())

    def users(self) -> list[str]:
        return sorted(self._known)

    @property
    def unfinished(self) -> bool:
        """Whether a purge was interrupted or is still in progress."""
        return any(marks.unfinished for marks in self._known.values())

    def rows(self) -> list[Row]:
        """Return all tombstones as rows."""
        return [
            (user, mark, said)
            for user, marks in self._known.items()
            for said, some in ((True, marks.exchanges), (False, marks.memories))
            for mark in sorted(some)
        ]

    def kept(self, memories: Iterable[Memory]) -> list[Memory]:
        """Return the memories that may be written: see `Tombstones.kept`."""
        return list(self.kept_rows(list(memories), None)[0])

    def kept_rows(
        self, memories: Sequence[Memory], vectors: Mapping[str, Vectors] | None
    ) -> tuple[Sequence[Memory], Mapping[str, Vectors]]:
        """Return the memories that may be written, and the vectors of these memories by encoder."""
        every = vectors or {}
        if not self._known:
            return memories, every
        found = [self.of(memory.user_id).kept(memory) for memory in memories]
        kept = [memory for memory in found if memory is not None]
        if len(kept) < len(found):
            rows = [row for row, memory in enumerate(found) if memory is not None]
            every = {encoder: array[rows] for encoder, array in every.items()}
        return kept, every

    # -- writing; these raise StoreError --------------------------------------------------------

    @contextmanager
    def during(
        self, user: str, exchanges: Collection[str], gone: Iterable[Memory]
    ) -> Iterator[None]:
        """Write tombstones for exchanges and memories that the block removes. After the block, mark
        the tombstones as finished. If the block raises, they remain marked as unfinished."""
        said, others = to_mark(exchanges, gone)
        self.write([*((user, mark, True) for mark in said), *((user, m, False) for m in others)])
        yield
        self.finish(user, said | others)

    def write(self, rows: Iterable[Row], *, finished: bool = False) -> None:
        """Add tombstones. Existing ones are left unchanged.

        Args:
            finished: whether the store no longer contains the exchanges and memories.
        """
        new = [row for row in dict.fromkeys(rows) if not self._has(row)]
        if not new:
            return
        with self._changing():
            table = self._db.create_table(NAME, schema=_schema(), exist_ok=True)
            table.add(_as_arrow(new, finished=finished))
            known = dict(self._known)
            for user, more in _grouped((*row, finished) for row in new).items():
                old = self.of(user)
                known[user] = Tombstones(
                    old.exchanges | more.exchanges,
                    old.memories | more.memories,
                    old.unfinished | more.unfinished,
                )
            self._known = known

    def take(self, other: "TombstoneTable") -> None:
        """Copy all tombstones from another table."""
        left = {(user, mark) for user in other.users() for mark in other.of(user).unfinished}
        self.write((row for row in other.rows() if row[:2] not in left), finished=True)
        self.write(row for row in other.rows() if row[:2] in left)

    def finish(self, user: str, marks: Iterable[str]) -> None:
        """Record that the exchanges and memories with these marks have been removed from the store,
        including their bytes on disk.

        Also delete older versions of the table. If an earlier attempt to delete them was killed,
        they may lack files and be unreadable.
        """
        from lancedb.expr import col, lit

        left = sorted(self.of(user).unfinished.intersection(marks))
        if not self._known:
            return
        with self._changing():
            table = self._db.open_table(NAME)
            if not left and len(table.list_versions()) == 1:
                return
            for some in chunks(left, IDS_AT_ONCE):
                these = (col("user_id") == lit(user)) & col("mark").isin(list(some))
                table.update(these, {"done": True})
            table.optimize(cleanup_older_than=TINY, delete_unverified=True)
            old = self.of(user)
            after = replace(old, unfinished=old.unfinished.difference(left))
            self._known = {**self._known, user: after}

    # -- on disk; these raise StoreError --------------------------------------------------------

    def versions(self) -> Iterator[list[tuple[str, str]]]:
        """Yield, for each existing version of the table, the user and mark of every row."""
        with explained(self._uri):
            table = self._open()
            if table is None:
                return
            for version in table.list_versions():
                table.checkout(version["version"])
                rows = table.search().select(["user_id", "mark"]).to_arrow()
                yield list(zip(rows["user_id"].to_pylist(), rows["mark"].to_pylist(), strict=True))

    def strange(self) -> int:
        """Return the number of malformed marks in all versions. Such a mark might contain user
        text."""
        every = (mark for rows in self.versions() for _, mark in rows)
        return sum(1 for mark in every if MARK.fullmatch(mark) is None)

    # -- inside ---------------------------------------------------------------------------------

    def _has(self, row: Row) -> bool:
        user, mark, said = row
        marks = self.of(user)
        return mark in (marks.exchanges if said else marks.memories)

    def _read(self) -> Mapping[str, Tombstones]:
        for attempt in range(1, TRIES + 1):
            try:
                with explained(self._uri):
                    table = self._open()
                    return {} if table is None else _grouped(_from_arrow(table.to_arrow()))
            except StoreDamaged as error:
                if attempt == TRIES:
                    raise self._damaged() from error
        raise AssertionError("unreachable")

    def _open(self) -> Table | None:
        """Return the table; None if nothing has been forgotten yet."""
        try:
            return self._db.open_table(NAME)
        except ValueError as error:
            if "was not found" not in str(error):
                raise
        folder = folder_of(self._uri)
        if folder is not None and any((folder / f"{NAME}.lance" / "data").glob("*")):
            raise self._damaged()
        return None

    def _damaged(self) -> StoreDamaged:
        return StoreDamaged(
            f"The list of what was forgotten in the memory store {self._uri} is damaged, so the"
            " store is not read; otherwise, forgotten things might come back.",
            mend=f"Restore {NAME}.lance there from a backup, or remove it; without it, forgotten"
            " things may come back from other machines that still have them.",
        )


def _schema() -> "pa.Schema":
    import pyarrow as pa

    text, flag = pa.string(), pa.bool_()
    names = {"user_id": text, "mark": text, "exchange": flag, "done": flag}
    return pa.schema(list(names.items()))


def _as_arrow(rows: Sequence[Row], *, finished: bool) -> "pa.Table":
    import pyarrow as pa

    users, marks, said = zip(*rows, strict=True)
    columns = [list(users), list(marks), list(said), [finished] * len(rows)]
    return pa.table(columns, schema=_schema())


def _from_arrow(rows: "pa.Table") -> Iterable[tuple[str, str, bool, bool]]:
    return zip(*(rows[name].to_pylist() for name in _schema().names), strict=True)


def _grouped(rows: Iterable[tuple[str, str, bool, bool]]) -> dict[str, Tombstones]:
    found: dict[str, tuple[set[str], set[str], set[str]]] = {}
    for user, mark, said, done in rows:
        exchanges, memories, unfinished = found.setdefault(user, (set(), set(), set()))
        (exchanges if said else memories).add(mark)
        if not done:
            unfinished.add(mark)
    return {user: Tombstones(*map(frozenset, some)) for user, some in found.items()}
