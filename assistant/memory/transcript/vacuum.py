"""What of the transcript's file lies outside of its rows: free pages, gaps and the log.

`secure_delete` overwrites what is deleted, but not what moved from one page to another and was
deleted there. So, after forgetting, the whole file is written anew, in RAM first: `connect_sqlite`
sees to it that no temporary file holds it all.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FreePages:
    """`free` are pages of the file that hold nothing any more, `log` is the length of its log."""

    free: int
    log: int


def write_anew(db: sqlite3.Connection) -> None:
    """Without free pages, nor gaps with remains."""
    db.execute("VACUUM")


def pages(db: sqlite3.Connection, path: Path) -> FreePages:
    (free,) = db.execute("PRAGMA freelist_count").fetchone()
    log = path.with_name(f"{path.name}-wal")
    return FreePages(int(free), log.stat().st_size if log.exists() else 0)


def texts(db: sqlite3.Connection) -> Iterator[str]:
    """All text in all rows, whatever table they are in."""
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for name in names:
        quoted = name.replace('"', '""')
        for row in db.execute(f'SELECT * FROM "{quoted}"'):
            yield from (value for value in row if isinstance(value, str))
