"""Copies the stores of a home and encrypts the copies with another key."""

import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import numpy as np

from assistant.encryption import SORTS_IN_RAM, MasterKey, key_literal
from assistant.errors import StoreError
from assistant.memory.forgetting.data_inventory import set_aside
from assistant.memory.store.lance_schema import Batch
from assistant.memory.store.location import store_location
from assistant.memory.store.repair import saving_marker
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.conversation_recordings import Recordings
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Settings

Fingerprint = tuple[bytes, list[float]]


class HomeStores:
    """The stores of a home that is being converted. Implements
    `encryption.conversion.HomeStores`."""

    def __init__(self, home: Home, settings: Settings) -> None:
        self._home = home
        self._settings = settings

    @property
    def outside(self) -> bool:
        return store_location(self._home, self._settings).uri != str(self._home.memories)

    def check_convertible(self) -> None:
        # The marker lists damaged folders. The new key would not decrypt them after the conversion.
        if saving_marker(self._home.memories).exists():
            raise StoreError(
                f"Memories in {self._home.root} were damaged and still have to be recovered."
                " Nothing was changed.",
                mend="Before you try again, recover them: assistant memory list",
            )

    def check_key(self, key: MasterKey) -> None:
        location = store_location(self._home, self._settings)
        if location.folder is None or location.folder.exists():
            MemoryTable.open(location.uri, key=key, or_read=True).close()

    def copy(
        self, fresh: Home, old: MasterKey | None, new: MasterKey | None, tell: Callable[[str], None]
    ) -> int:
        home, readable = self._home, 0
        tell("The transcript …")
        if home.transcript.exists():
            _copy_transcript(home.transcript, old, fresh.transcript, new)
        tell("The memories …")
        if home.memories.exists():
            readable = _copy_memories(home.memories, old, fresh.memories, new)
        Recordings(home.recordings, old).copy_to(fresh.recordings, new)
        return readable

    def damaged(self) -> Sequence[Path]:
        return set_aside(self._home)


def _copy_transcript(
    source: Path, old: MasterKey | None, target: Path, new: MasterKey | None
) -> None:
    """Copy the transcript through SQLCipher, which reads and writes unencrypted files too."""
    Transcript.open(source, old).close()  # migrates its schema and empties its log
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    from sqlcipher3 import dbapi2

    try:
        with closing(dbapi2.connect(str(source), isolation_level=None)) as db:
            db.execute("PRAGMA cipher_log_level = NONE")
            if old is not None:
                db.execute(f"PRAGMA key = {key_literal(old)}")
            db.execute(SORTS_IN_RAM)  # `_equal` sorts user text, which must not reach the disk
            db.execute(f"ATTACH DATABASE ? AS fresh KEY {key_literal(new)}", (str(target),))
            db.execute("SELECT sqlcipher_export('fresh')").fetchall()
            (version,) = db.execute("PRAGMA main.user_version").fetchone()
            db.execute(f"PRAGMA fresh.user_version = {int(version)}")
            same = _equal(db)
            db.execute("DETACH DATABASE fresh")
    except dbapi2.Error as error:
        raise StoreError(
            f"The transcript {source} can't be encrypted or decrypted: {error}."
            " Nothing was changed."
        ) from error
    if not same:
        raise StoreError("The transcript's copy differs from the original. Nothing was changed.")
    Transcript.open(target, new).close()


def _equal(db: sqlite3.Connection) -> bool:
    """Whether both databases have the same tables and rows, and the copy is intact."""
    names = "SELECT name FROM {} WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    tables = [row[0] for row in db.execute(names.format("main.sqlite_master"))]
    if tables != [row[0] for row in db.execute(names.format("fresh.sqlite_master"))]:
        return False
    for name in tables:
        for one, other in (("main", "fresh"), ("fresh", "main")):
            rows = f'SELECT * FROM {one}."{name}" EXCEPT SELECT * FROM {other}."{name}"'
            if db.execute(f"{rows} LIMIT 1").fetchone() is not None:
                return False
    return bool(db.execute("PRAGMA fresh.integrity_check").fetchall() == [("ok",)])


def _copy_memories(source: Path, old: MasterKey | None, target: Path, new: MasterKey | None) -> int:
    """Copy all memories; return how many have ids from another program or refer to such ids.

    Such ids are copied unencrypted. To replace them with hashes, export the memories from an
    encrypted home and import them again.
    """
    readable = 0
    with (
        closing(MemoryTable.open(str(source), key=old)) as before,
        closing(MemoryTable.open(str(target), key=new)) as after,
    ):
        encoders = before.encoders()
        for name, dimensions in encoders.items():
            after.add_encoder(name, dimensions)
        for user in before.users():
            for batch in before.scan(user, vectors=tuple(encoders)):
                readable += _add(after, batch, tuple(encoders))
            if not _alike(_prints(before, user, encoders), _prints(after, user, encoders)):
                raise StoreError(
                    "The copy of the memories differs from the original. Nothing was changed."
                )
        after.forgotten.take(before.forgotten)
        after.compact()
    return readable


def _add(table: MemoryTable, batch: Batch, encoders: tuple[str, ...]) -> int:
    """Add a batch of rows to the table, grouped by the encoders whose vectors they have.

    Returns how many memories have ids from another program or refer to such ids.
    """
    memories = batch.memories()
    vectors = {name: batch.vectors(name) for name in encoders}
    have = np.array([present for _, present in vectors.values()], np.bool_)
    have = have.reshape(len(encoders), len(memories))
    for pattern in np.unique(have, axis=1).T:
        rows = np.flatnonzero((have == pattern[:, None]).all(axis=0))
        some = {
            name: vectors[name][0][rows]
            for name, present in zip(encoders, pattern.tolist(), strict=True)
            if present
        }
        table.add([memories[row] for row in rows.tolist()], some)
    return sum(one != other for one, other in zip(memories, table.named(memories), strict=True))


def _prints(table: MemoryTable, user: str, encoders: Mapping[str, int]) -> list[Fingerprint]:
    """Return, for each memory, a digest of its fields and one number computed from each vector."""
    onto = {name: np.cos(np.arange(dimensions)) for name, dimensions in encoders.items()}
    found: list[Fingerprint] = []
    for batch in table.scan(user, vectors=tuple(encoders)):
        numbers = np.zeros((len(encoders), len(batch)))
        for row, (name, direction) in enumerate(onto.items()):
            vectors, present = batch.vectors(name)
            numbers[row] = np.where(present, vectors @ direction, np.inf)
        digests = [sha256(repr(memory).encode("utf-8", "replace")) for memory in batch.memories()]
        found += zip((each.digest() for each in digests), numbers.T.tolist(), strict=True)
    return sorted(found)


def _alike(one: list[Fingerprint], other: list[Fingerprint]) -> bool:
    """Whether all fingerprints are equal except for rounding.

    Encryption rotates vectors, and rotating them back changes their last digits in single
    precision.
    """
    return [digest for digest, _ in one] == [digest for digest, _ in other] and np.allclose(
        np.array([numbers for _, numbers in one]),
        np.array([numbers for _, numbers in other]),
        rtol=1e-3,
        atol=1e-3,
    )
