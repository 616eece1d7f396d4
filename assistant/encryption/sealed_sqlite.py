"""Opens the transcript's database: with SQLite if it is plain, with SQLCipher if there is a key.

SQLCipher encrypts every page of the database and of its log with AES-256 and an HMAC. It is given
the raw key, so opening needs no key stretching. Because the key is random, the salt may be a
constant. The file begins with the salt, which distinguishes an encrypted file from a damaged one.
"""

import sqlite3
import sys
from pathlib import Path
from typing import Any

from assistant.encryption.keys import MasterKey
from assistant.errors import StoreLocked

PLAIN_HEADER = b"SQLite format 3\0"
SEALED_HEADER = b"assistant sealed"
"""The first 16 bytes of an encrypted file. SQLCipher requires a salt of this length."""
BUSY_S = 2.0
"""Seconds to wait for another process that is writing."""
SORTS_IN_RAM = "PRAGMA temp_store = MEMORY"
"""Keeps temporary data in RAM. Otherwise, SQLite would sort rows in unencrypted files in
/var/tmp."""


def connect_sqlite(path: Path, key: MasterKey | None, busy_s: float) -> sqlite3.Connection:
    """Open a connection in autocommit mode. Any thread may use it, but only one at a time. The
    transcript's contents are written only to its own file and that file's log.

    Raises:
        StoreLocked: the key is wrong, an encrypted file has no key, or a plain file has one.
        One of `sqlite_failures`, OSError: the file can't be opened.
    """
    header = header_of(path)
    if key is None and header == SEALED_HEADER:
        raise StoreLocked(
            f"The transcript {path} is encrypted, and there is no key; nothing was touched.",
            mend="Use the recovery key: assistant encryption recover",
        )
    if key is None:
        plain = sqlite3.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)
        plain.execute(SORTS_IN_RAM)
        return plain
    if header == PLAIN_HEADER:
        raise StoreLocked(
            f"The transcript {path} is not encrypted, though there is a key; nothing was touched.",
            mend="Move the key file encryption.json away, or restore both from the same backup.",
        )
    from sqlcipher3 import dbapi2

    db: sqlite3.Connection = dbapi2.connect(
        str(path), timeout=busy_s, isolation_level=None, check_same_thread=False
    )
    try:
        # Otherwise SQLCipher logs to standard error, next to the message for the user.
        db.execute("PRAGMA cipher_log_level = NONE")
        db.execute(f"PRAGMA key = {key_literal(key)}")
        db.execute(SORTS_IN_RAM)
        _try_key(db, path, header)
    except BaseException:
        db.close()
        raise
    return db


def key_literal(key: MasterKey | None) -> str:
    """Return the raw key and its salt as an SQL literal for SQLCipher. Return `''` if `key` is
    None."""
    return "''" if key is None else f"\"x'{(key.derive('transcript') + SEALED_HEADER).hex()}'\""


def header_of(path: Path) -> bytes:
    """Return the file's first 16 bytes. Return no bytes if the file is missing or empty. Raises
    OSError."""
    try:
        with path.open("rb") as file:
            return file.read(len(PLAIN_HEADER))
    except FileNotFoundError:
        return b""


def sqlite_failures() -> tuple[type[Exception], ...]:
    """Return the exceptions that SQLite and SQLCipher raise. SQLCipher's is included only if the
    library has been loaded, which happens only if there is a key."""
    module: Any = sys.modules.get("sqlcipher3.dbapi2")
    return (sqlite3.Error,) if module is None else (sqlite3.Error, module.Error)


def _try_key(db: sqlite3.Connection, path: Path, header: bytes) -> None:
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite_failures() as error:
        if header != SEALED_HEADER or getattr(error, "sqlite_errorname", "") != "SQLITE_NOTADB":
            raise
        raise StoreLocked(
            f"The transcript {path} does not open with this key; nothing was touched.",
            mend="Use the recovery key: assistant encryption recover",
        ) from error
