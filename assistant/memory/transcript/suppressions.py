"""Records memories that expired, so that they are not created again: ids, no text. A record is
deleted with its exchange."""

import sqlite3
from collections.abc import Collection, Iterable


def add_table(db: sqlite3.Connection) -> None:
    """A migration."""
    db.execute(
        """CREATE TABLE expired (
            exchange TEXT NOT NULL REFERENCES exchange (id) ON DELETE CASCADE,
            memory TEXT NOT NULL,
            user TEXT NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (exchange, memory)
        ) STRICT"""
    )


def note(db: sqlite3.Connection, user: str, tellings: Iterable[tuple[str, str]], at: int) -> None:
    """Record expired memories.

    Args:
        tellings: pairs of an exchange and a memory made from it; unknown exchanges are skipped.
        at: microseconds since 1970, UTC.
    """
    db.executemany(
        "INSERT OR REPLACE INTO expired SELECT id, ?, user, ? FROM exchange"
        " WHERE id = ? AND user = ?",
        [(memory, at, exchange, user) for exchange, memory in tellings],
    )


def noted(db: sqlite3.Connection, user: str, now: int) -> set[str]:
    """Ids of expired memories. Records dated in the future come from a wrong clock: ignored."""
    query = "SELECT memory FROM expired WHERE user = ? AND at <= ?"
    return {row[0] for row in db.execute(query, (user, now))}


def of(db: sqlite3.Connection, user: str, exchanges: Collection[str]) -> set[str]:
    """Ids of expired memories based on one of these exchanges, whatever the date."""
    places = ", ".join("?" * len(exchanges))
    query = f"SELECT memory FROM expired WHERE user = ? AND exchange IN ({places})"
    return {row[0] for row in db.execute(query, (user, *exchanges))}
