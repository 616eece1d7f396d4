"""What the transcript notes of memories that have expired, so that they are not made again: ids, no
text. A note goes with its exchange."""

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
    """
    Args:
        tellings: pairs of an exchange and a memory of it; an exchange that isn't there is left out.
        at: microseconds since 1970, UTC.
    """
    db.executemany(
        "INSERT OR REPLACE INTO expired SELECT id, ?, user, ? FROM exchange"
        " WHERE id = ? AND user = ?",
        [(memory, at, exchange, user) for exchange, memory in tellings],
    )


def noted(db: sqlite3.Connection, user: str, now: int) -> set[str]:
    """Ids of such memories. What is noted for later than now was by a clock that went wrong."""
    query = "SELECT memory FROM expired WHERE user = ? AND at <= ?"
    return {row[0] for row in db.execute(query, (user, now))}


def of(db: sqlite3.Connection, user: str, exchanges: Collection[str]) -> set[str]:
    """Ids of such memories that rest on one of these exchanges, whenever that was noted."""
    places = ", ".join("?" * len(exchanges))
    query = f"SELECT memory FROM expired WHERE user = ? AND exchange IN ({places})"
    return {row[0] for row in db.execute(query, (user, *exchanges))}
