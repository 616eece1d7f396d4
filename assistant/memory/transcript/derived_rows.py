"""Rows for what was derived from exchanges; they are deleted with any exchange they are based on,
in the same transaction."""

import sqlite3
from collections.abc import Collection, Iterable

from assistant.memory.transcript.hidden_rows import LOOKED_UP

Row = tuple[int, str, str]
"""Number, subject, content."""


def add_tables(db: sqlite3.Connection) -> None:
    """A migration. Times are microseconds since 1970, UTC; `content` is JSON."""
    db.execute(
        """CREATE TABLE derived (
            number INTEGER PRIMARY KEY,
            user TEXT NOT NULL,
            kind TEXT NOT NULL,
            subject TEXT NOT NULL,
            version INTEGER NOT NULL,
            model TEXT NOT NULL,
            made INTEGER NOT NULL,
            content TEXT NOT NULL,
            UNIQUE (user, kind, subject)
        ) STRICT"""
    )
    db.execute(
        """CREATE TABLE derived_source (
            derived INTEGER NOT NULL REFERENCES derived (number) ON DELETE CASCADE,
            exchange TEXT NOT NULL REFERENCES exchange (id) ON DELETE CASCADE,
            PRIMARY KEY (derived, exchange)
        ) STRICT"""
    )
    db.execute("CREATE INDEX derived_by_source ON derived_source (exchange)")
    db.execute(
        "CREATE TRIGGER derived_without_source AFTER DELETE ON derived_source BEGIN"
        " DELETE FROM derived WHERE number = OLD.derived; END"
    )


def contents(
    db: sqlite3.Connection, user: str, kind: str, subjects: Collection[str] | None
) -> list[Row]:
    query = "SELECT number, subject, content FROM derived WHERE user = ? AND kind = ?"
    if subjects is None:
        return db.execute(query, (user, kind)).fetchall()
    rows: list[Row] = []
    for part in _parts(subjects):
        within = f"{query} AND subject IN ({_places(part)})"
        rows += db.execute(within, (user, kind, *part)).fetchall()
    return rows


def made(
    db: sqlite3.Connection, user: str, kind: str, version: int, subjects: Collection[str]
) -> set[str]:
    query = "SELECT subject FROM derived WHERE user = ? AND kind = ? AND version = ?"
    found: set[str] = set()
    for part in _parts(subjects):
        rows = db.execute(f"{query} AND subject IN ({_places(part)})", (user, kind, version, *part))
        found.update(row[0] for row in rows)
    return found


def resting_on(db: sqlite3.Connection, exchanges: Collection[str]) -> set[int]:
    found: set[int] = set()
    for part in _parts(exchanges):
        query = f"SELECT derived FROM derived_source WHERE exchange IN ({_places(part)})"
        found.update(row[0] for row in db.execute(query, part))
    return found


def sources(db: sqlite3.Connection, number: int) -> tuple[str, ...]:
    rows = db.execute("SELECT exchange FROM derived_source WHERE derived = ?", (number,))
    return tuple(row[0] for row in rows)


# -- inside -------------------------------------------------------------------------------------


def _parts(ids: Iterable[str]) -> list[tuple[str, ...]]:
    every = tuple(ids)
    return [every[at : at + LOOKED_UP] for at in range(0, len(every), LOOKED_UP)]


def _places(values: Collection[str]) -> str:
    return ", ".join("?" * len(values))
