"""The durable store of memories: one LanceDB table in a folder or an object store.

Rows written by `add` are not lost if the process is killed. Each write is one transaction and
creates a new version of the table. Many small writes make the table slow until `compact` merges
them (see `wants_compaction`).

All methods block and are thread-safe. All raise StoreError if the store can't be reached.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any

from assistant.encryption import MasterKey
from assistant.errors import StoreError, StoreInUse
from assistant.memory.records.arrays import Vectors
from assistant.memory.records.memory import Memory
from assistant.memory.records.serialization import FIELDS
from assistant.memory.store import lance_queries, lance_schema, open_table
from assistant.memory.store import rewrite as table_rewrite
from assistant.memory.store.lance_errors import explained
from assistant.memory.store.lance_queries import IDS_AT_ONCE, SAID, by_user, chunks, condition
from assistant.memory.store.lance_schema import Batch
from assistant.memory.store.open_table import Table, folder_of, version
from assistant.memory.store.rewrite import ROWS_AT_ONCE
from assistant.memory.store.row_encryption import EncryptedRows, PlainRows
from assistant.memory.store.tombstone_table import TombstoneTable
from assistant.memory.store.write_priority import yield_to_speech
from assistant.memory.store.writer_lock import OnlyReading, SharedLock, WriterLock

PATIENCE_S = 2.0
"""Maximum number of seconds to wait for a moment in which nobody reads or writes."""


class MemoryTable:
    """The memories of all users. Every query names the user."""

    def __init__(
        self,
        db: Any,
        table: Table,
        lock: WriterLock,
        uri: str,
        seal: PlainRows,
        on_proved: Callable[[], None],
    ) -> None:
        self.proved = on_proved
        """Call this once everything has been read without a crash."""
        self.named = seal.named
        """Replaces the ids of imported memories if the table is encrypted: see `row_encryption`."""
        self._db = db
        self._table = table
        self._lock = lock
        self.uri = uri
        self._fragments = table_rewrite.Fragments(table)
        self._seal = seal
        self._closed = False
        self._gate = SharedLock()
        self._adders = SharedLock()
        self._rewriting = threading.Lock()
        self.forgotten = TombstoneTable(db, uri, self._changing)
        """Ids of forgotten exchanges and memories, which must never be written again."""

    @classmethod
    def open(
        cls,
        uri: str,
        *,
        key: MasterKey | None = None,
        storage_options: Mapping[str, str] | None = None,
        or_read: bool = False,
        on_begun: Callable[[], None] = lambda: None,
        on_proved: Callable[[], None] = lambda: None,
    ) -> "MemoryTable":
        """Open or create the table as its only writer. Importing LanceDB takes 0.2 s.

        Args:
            uri: a folder, which is made readable by its owner only, or a URI for LanceDB: s3://…
            key: the key of an encrypted table.
            storage_options: options for the object store: endpoint, region, keys…
            or_read: if another assistant writes to the object store, only read it; see `refused`.
            on_begun: called before the first byte of the table is read.
            on_proved: called once everything was read, or if opening failed without a crash.

        Raises:
            StoreError: the store can't be reached, read or written, is damaged, is in use by
                another assistant, or has a newer version.
        """
        with ExitStack() as on_failure, explained(uri):
            db, lock = open_table.connect(uri, storage_options or {}, or_read=or_read)
            on_failure.callback(lock.release)
            on_begun()
            on_failure.callback(on_proved)
            seal = PlainRows() if key is None else EncryptedRows(key)
            reads = isinstance(lock, OnlyReading)
            opening = open_table.open_to_read if reads else open_table.open_table
            opened = cls(db, opening(db, uri, seal.key_id), lock, uri, seal, on_proved)
            on_failure.pop_all()
        return opened

    @property
    def version(self) -> int:
        """A number that changes with every write."""
        with self._reading() as table:
            return int(table.version)

    @property
    def refused(self) -> StoreInUse | None:
        """Why the table is read-only: another assistant writes to it. None if it can be written."""
        return self._lock.refused if isinstance(self._lock, OnlyReading) else None

    def encoders(self) -> dict[str, int]:
        """Return the names and dimensions of the encoders that have a vector column."""
        with self._reading() as table:
            found = lance_schema.vector_fields(table.schema)
        return {name: field.type.list_size for name, field in found.items()}

    def add_encoder(self, name: str, dimensions: int) -> None:
        """Create the vector column of an encoder, without any vectors. Does nothing if it exists.

        Raises:
            ValueError: the column exists with other dimensions, or another encoder's name differs
                only in case or punctuation.
        """
        check = self._seal.check(name, dimensions)
        field = lance_schema.vector_field(name, dimensions, check)
        with self._changing() as table:
            known = lance_schema.vector_fields(table.schema).get(name)
            if known is not None and known.type.list_size == dimensions:
                if self._seal.agrees(known, check):
                    return
                table.drop_columns([known.name])
            elif known is not None or field.name in table.schema.names:
                raise ValueError(f"there is a column for an encoder like {name} already")
            table.add_columns(field)

    def drop_encoder(self, name: str) -> None:
        """Drop an encoder's vector column, if there is one. This affects all users."""
        with self._changing() as table:
            if (field := lance_schema.vector_fields(table.schema).get(name)) is not None:
                table.drop_columns([field.name])

    # -- writing --------------------------------------------------------------------------------

    def add(self, memories: Sequence[Memory], vectors: Mapping[str, Vectors] | None = None) -> None:
        """Write new memories, all or none. Their ids must be new; this is not checked. Forgotten
        memories are left out, as in every write.

        Args:
            vectors: by encoder, shape (len(memories), dimensions).

        Raises:
            ValueError: a vector, an id or a time is invalid.
            KeyError: the encoder has no column.
        """
        with self._adding() as table:
            memories, arrays = self.forgotten.kept_rows(memories, vectors)
            if not memories:
                return
            rows = lance_schema.rows(memories, version())
            for encoder, array in arrays.items():
                field = lance_schema.vector_fields(table.schema)[encoder]
                turned = lance_schema.vector_column(field, self._seal.turn(encoder, array))
                rows = rows.append_column(field, turned)
            table.add(self._seal.close(rows))

    def update(self, memories: Sequence[Memory]) -> int:
        """Replace existing memories with the same ids; return how many there were. For each user,
        all are replaced or none.

        A row keeps its vectors if its text is unchanged. Unknown ids are ignored, so that deleted
        memories don't come back.
        """
        return sum(
            self._replace(user, those, insert=False) for user, those in by_user(memories).items()
        )

    def put(self, memories: Sequence[Memory]) -> int:
        """Replace memories like `update`, and add those that don't exist; return how many were
        written."""
        return sum(
            self._replace(user, those, insert=True) for user, those in by_user(memories).items()
        )

    def set_vectors(self, user_id: str, encoder: str, ids: Sequence[str], array: Vectors) -> int:
        """Set the vectors of rows in one transaction; return how many of the rows exist.

        Args:
            array: shape (len(ids), dimensions).

        Raises:
            ValueError: the shape or a number is invalid.
            KeyError: the encoder has no column.
        """
        import pyarrow as pa

        with self._changing() as table:
            field = lance_schema.vector_fields(table.schema)[encoder]
            fresh = lance_schema.vector_column(field, self._seal.turn(encoder, array))
            if len(fresh) != len(ids):
                raise ValueError(f"{len(fresh)} vectors for {len(ids)} ids")
            where = {key: row for row, key in enumerate(ids)}
            rows = lance_queries.rows_of(table, user_id, list(where))
            if not rows.num_rows:
                return 0
            order = pa.array([where[key] for key in rows.column("id").to_pylist()])
            place = rows.schema.get_field_index(field.name)
            lance_queries.merge(table, rows.set_column(place, field, fresh.take(order)))
            return int(rows.num_rows)

    def delete(self, user_id: str, ids: Iterable[str]) -> int:
        """Delete rows; return how many existed. Their bytes stay on disk until `rewrite`."""
        with self._changing() as table:
            return sum(
                int(table.delete(condition(user_id, some)).num_deleted_rows)
                for some in chunks(list(ids), IDS_AT_ONCE)
            )

    # -- reading --------------------------------------------------------------------------------

    def get(self, user_id: str, ids: Sequence[str]) -> list[Memory]:
        """Return memories in the order of `ids`. Missing ones are left out."""
        yield_to_speech()
        found: dict[str, Memory] = {}
        with self._reading() as table:
            for some in chunks(list(ids), IDS_AT_ONCE):
                rows = table.search().where(condition(user_id, some)).select(list(FIELDS))
                opened = self._seal.open(rows.to_arrow(), user_id)
                found |= {memory.id: memory for memory in lance_schema.memories(opened)}
        return [found[key] for key in dict.fromkeys(ids) if key in found]

    def scan(
        self,
        user_id: str,
        columns: Sequence[str] = FIELDS,
        vectors: Sequence[str] = (),
        ids: Sequence[str] | None = None,
    ) -> Iterator[Batch]:
        """Yield all current rows of a user in the order in which they were said. Of rows with equal
        times, those spoken by the user come first. If you stop early, close the iterator: it keeps
        old versions alive.

        Args:
            columns: the fields to read.
            vectors: the encoders whose vectors to read.
            ids: at most ten thousand ids of the rows to read; default: all rows.

        Raises:
            KeyError: an encoder has no column.
        """
        with self._reading() as table:
            fields = lance_schema.vector_fields(table.schema)
            # Decryption needs the row's id.
            wanted = [*dict.fromkeys((*columns, "id")), *(fields[name].name for name in vectors)]
            query = table.search().where(condition(user_id, ids)).select(wanted).order_by(SAID)
            for batch in query.to_batches(ROWS_AT_ONCE):
                if batch.num_rows:
                    yield Batch(self._seal.open(batch, user_id), self._seal.turn_back)

    def users(self) -> list[str]:
        """Return the users who have memories in this table."""
        with self._reading() as table:
            batches = table.search().select(["user_id"]).to_batches(ROWS_AT_ONCE)
            return sorted({user for each in batches for user in each["user_id"].to_pylist()})

    def count(self, user_id: str) -> int:
        with self._reading() as table:
            return int(table.count_rows(condition(user_id).to_sql()))

    def without_vectors(self, user_id: str, encoder: str, limit: int) -> list[Memory]:
        """Return up to `limit` memories that have no vector from this encoder.

        Raises:
            KeyError: the encoder has no column.
        """
        with self._reading() as table:
            field = lance_schema.vector_fields(table.schema)[encoder]
            where = f"{condition(user_id).to_sql()} AND {field.name} IS NULL"
            rows = table.search().where(where).select(list(FIELDS)).limit(limit)
            return lance_schema.memories(self._seal.open(rows.to_arrow(), user_id))

    # -- upkeep ---------------------------------------------------------------------------------

    def wants_compaction(self, *, in_silence: bool = False) -> bool:
        """Return whether so many writes have been made that the table should be compacted. If
        `in_silence`, fewer suffice."""
        return self._fragments.many(in_silence=in_silence)

    def compact(self) -> bool:
        """Merge the fragments of many small writes, and drop old versions of the table.

        Other threads wait only for the milliseconds in which old versions are dropped. Returns
        False if old versions could not be dropped, because someone was reading all the time.
        """
        with self._changing() as table:
            self._fragments.merged(table)
            table.optimize(cleanup_older_than=timedelta(days=36_500))
        with self._rewriting, self._gate.alone(PATIENCE_S) as alone, explained(self.uri):
            if alone:
                self._check()
                # A folder has no other writer, so a killed write's files can be deleted too.
                left = folder_of(self.uri) is not None
                table.optimize(cleanup_older_than=table_rewrite.TINY, delete_unverified=left)
            return alone

    def rewrite(self) -> bool:
        """Remove deleted and replaced values from all files: see the module `rewrite`. Recall
        continues meanwhile; adding waits. Returns False if old versions remain, usually because
        someone was reading or adding all the time. In that case, call this again."""
        with self._rewriting, explained(self.uri):
            with self._adders.alone(PATIENCE_S) as quiet, self._reading() as table:
                self._lock.check()
                if not quiet:
                    return False
                table_rewrite.copy_over(table)
                self._fragments.merged(table)
            with self._gate.alone(PATIENCE_S) as alone:
                if not alone:
                    return False
                self._check()
                table_rewrite.drop_old(self._table, self.uri)
                return table_rewrite.layout(self._table, self.uri).versions == 1

    def layout(self) -> table_rewrite.Layout:
        with self._reading() as table:
            return table_rewrite.layout(table, self.uri)

    def versions(self) -> Iterator[tuple[int, Batch]]:
        """Yield all users' rows in every existing version, newest first. Vectors are as stored."""
        with self._reading():
            for number, batch in table_rewrite.versions(self._db.open_table(open_table.NAME)):
                for rows in table_rewrite.opened(batch, self._seal):
                    yield number, Batch(rows, lambda _, vectors: vectors)

    def close(self) -> None:
        """Close the table, after waiting up to `PATIENCE_S` until nobody reads or writes. Others
        may then open it. May be called repeatedly."""
        with self._rewriting, self._gate.alone(PATIENCE_S):
            if not self._closed:
                self._closed = True
                self.proved()
                self._lock.release()

    def distrust(self) -> None:
        """Mark the table as damaged, so that it is checked before it is opened again."""
        self.proved = lambda: None

    # -- inside ---------------------------------------------------------------------------------

    def _replace(self, user_id: str, memories: Sequence[Memory], *, insert: bool) -> int:
        """Replace rows. Existing rows keep their vectors if the text is unchanged."""
        import pyarrow as pa

        with self._changing() as table:
            memories = self.forgotten.kept(memories)
            if not memories:
                return 0
            old = lance_queries.rows_of(table, user_id, [memory.id for memory in memories])
            known = self._seal.open(old.select(["id", "text"]), user_id)
            texts = dict(zip(*(column.to_pylist() for column in known.columns), strict=True))
            places = {key: place for place, key in enumerate(texts)}
            new = lance_schema.rows(memories, version())
            keys = new.column("id").to_pylist()
            if not insert:
                new = new.filter(pa.array([key in places for key in keys], pa.bool_()))
                keys = new.column("id").to_pylist()
            said = zip(keys, new.column("text").to_pylist(), strict=True)
            kept = [places[key] if texts.get(key) == text else None for key, text in said]
            new = lance_queries.with_vectors(new, old, kept)
            if new.num_rows:
                lance_queries.merge(table, self._seal.close(new), insert=insert)
            return int(new.num_rows)

    def _check(self) -> None:
        if self._closed:
            raise StoreError(f"The memory store {self.uri} is closed.")

    @contextmanager
    def _reading(self) -> Iterator[Table]:
        with self._gate.shared(), explained(self.uri):
            self._check()
            yield self._table

    @contextmanager
    def _adding(self) -> Iterator[Table]:
        """Allow adding rows. Others may read and add meanwhile. Waits for a rewrite to end."""
        with self._adders.shared(), self._reading() as table:
            self._lock.check()
            self._fragments.one_more()
            yield table

    @contextmanager
    def _changing(self) -> Iterator[Table]:
        """Allow one change at a time. LanceDB would have to repeat one of two simultaneous
        changes."""
        yield_to_speech()
        with self._rewriting, self._adding() as table:
            yield table
