"""Removes traces of deleted rows from the transcript's file: free pages, gaps and the log.

`secure_delete` overwrites deleted rows, but not copies left behind when rows moved between pages.
So the whole file is rewritten after forgetting, in RAM first: `connect_sqlite` makes sure that no
temporary file is used.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FreePages:
    """`free` counts unused pages of the file; `log` is the length of its log in bytes."""

    free: int
    log: int


def write_anew(db: sqlite3.Connection) -> None:
    """Rewrite the file without free pages or gaps."""
    db.execute("VACUUM")


def pages(db: sqlite3.Connection, path: Path) -> FreePages:
    (free,) = db.execute("PRAGMA freelist_count").fetchone()
    log = path.with_name(f"{path.name}-wal")
    return FreePages(int(free), log.stat().st_size if log.exists() else 0)


def texts(db: sqlite3.Connection) -> Iterator[str]:
    """All texts in all rows of all tables."""
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for name in names:
        quoted = name.replace('"', '""')
        for row in db.execute(f'SELECT * FROM "{quoted}"'):
            yield from (value for value in row if isinstance(value, str))
