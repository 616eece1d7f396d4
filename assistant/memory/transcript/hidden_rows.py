"""Records of forgetting in the transcript: what is hidden and can be brought back, and what is gone
and must not come back. Ids and times, no words."""

import json
import sqlite3
from collections.abc import Iterable

from assistant.memory.records.hidden import HiddenItems

LOOKED_UP = 500
"""Ids in one statement. For more it is faster to read all rows: each lookup takes 4 µs."""


def add_tables(db: sqlite3.Connection) -> None:
    """A migration. Times are microseconds since 1970, UTC; lists are JSON."""
    db.execute(
        """CREATE TABLE hidden (
            id TEXT PRIMARY KEY,
            user TEXT NOT NULL,
            asked INTEGER NOT NULL,
            due INTEGER NOT NULL,
            exchanges TEXT NOT NULL,
            memories TEXT NOT NULL
        ) STRICT"""
    )
    db.execute(
        """CREATE TABLE forgotten (
            exchange TEXT PRIMARY KEY,
            user TEXT NOT NULL,
            at INTEGER NOT NULL
        ) STRICT"""
    )


def hide(db: sqlite3.Connection, hidden: HiddenItems, asked: int, due: int) -> None:
    lists = (json.dumps(hidden.exchanges), json.dumps(hidden.memories))
    row = (hidden.id, hidden.user, asked, due, *lists)
    db.execute("INSERT OR REPLACE INTO hidden VALUES (?, ?, ?, ?, ?, ?)", row)


def unhide(db: sqlite3.Connection, user: str, key: str) -> None:
    db.execute("DELETE FROM hidden WHERE user = ? AND id = ?", (user, key))


def all_hidden(
    db: sqlite3.Connection, user: str
) -> list[tuple[str, int, int, list[str], list[str]]]:
    """Id, asked, due, exchanges, memories; oldest first."""
    rows = db.execute(
        "SELECT id, asked, due, exchanges, memories FROM hidden WHERE user = ?"
        " ORDER BY asked, rowid",
        (user,),
    ).fetchall()
    return [
        (key, asked, due, json.loads(exchanges), json.loads(memories))
        for key, asked, due, exchanges, memories in rows
    ]


def users(db: sqlite3.Connection) -> list[str]:
    """The users who have something hidden."""
    return [row[0] for row in db.execute("SELECT DISTINCT user FROM hidden ORDER BY user")]


def hidden_exchanges(db: sqlite3.Connection, user: str) -> set[str]:
    rows = db.execute("SELECT exchanges FROM hidden WHERE user = ?", (user,)).fetchall()
    return {key for (exchanges,) in rows for key in json.loads(exchanges)}


def mark_forgotten(db: sqlite3.Connection, user: str, exchanges: Iterable[str], at: int) -> None:
    db.executemany(
        "INSERT OR IGNORE INTO forgotten VALUES (?, ?, ?)", [(key, user, at) for key in exchanges]
    )


def held(db: sqlite3.Connection, user: str, exchanges: Iterable[str]) -> set[str]:
    """Those of these ids that are stored exchanges of this user, hidden or not."""
    ids = list(exchanges)
    if len(ids) > LOOKED_UP:
        every = db.execute("SELECT id FROM exchange WHERE user = ?", (user,))
        return {row[0] for row in every}.intersection(ids)
    places = ", ".join("?" * len(ids))
    query = f"SELECT id FROM exchange WHERE user = ? AND id IN ({places})"
    return {row[0] for row in db.execute(query, (user, *ids))}


def is_forgotten(db: sqlite3.Connection, exchange: str) -> bool:
    row = db.execute("SELECT 1 FROM forgotten WHERE exchange = ?", (exchange,)).fetchone()
    return row is not None
