"""Queries on the transcript's tables, as functions that take an open connection."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from assistant.context import Conversation, Exchange, Summary
from assistant.memory.records.stored_values import microseconds, time_of

LOOKED_UP = 500
"""Maximum number of ids looked up in one SQL statement. Each lookup takes 4 µs, so for more ids it
is faster to read all rows."""
EXCHANGE = "id, turn, user_text, started, assistant_text, interrupted, ended"
"""The columns that `exchange_of` reads."""

DerivedRow = tuple[int, str, str]
"""The number, subject and JSON content of a derived output."""


def exchange_of(row: Sequence[Any]) -> Exchange:
    """Convert a row with the columns `EXCHANGE` to an exchange."""
    key, turn, said, started, answer, interrupted, ended = row
    return Exchange(key, turn, said, time_of(started), answer, bool(interrupted), time_of(ended))


def places(values: Collection[object]) -> str:
    """Return one SQL placeholder per value, e.g. `?, ?` for two values."""
    return ", ".join("?" * len(values))


def parts(ids: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Split the ids into tuples of up to `LOOKED_UP` ids."""
    every = tuple(ids)
    return (every[at : at + LOOKED_UP] for at in range(0, len(every), LOOKED_UP))


def stored_conversation(db: sqlite3.Connection, user: str, conversation: str) -> Conversation:
    """Load a conversation without its hidden exchanges. Its summary is left out if it covers a
    hidden exchange."""
    hidden = hidden_exchanges(db, user)
    found = db.execute(
        f"SELECT {EXCHANGE} FROM exchange"
        " WHERE user = ? AND conversation = ? ORDER BY turn, started, rowid",
        (user, conversation),
    )
    exchanges = [exchange_of(row) for row in found if row[0] not in hidden]
    last = db.execute(
        "SELECT id, text, covers, created FROM summary WHERE user = ? AND conversation = ?"
        " ORDER BY created DESC, rowid DESC LIMIT 1",
        (user, conversation),
    ).fetchone()
    if last is None:
        return Conversation(conversation, user, exchanges)
    key, text, covers, created = last
    summary = Summary(key, text, tuple(json.loads(covers)), time_of(created))
    shown = summary if hidden.isdisjoint(summary.covers) else None
    return Conversation(conversation, user, exchanges, shown)


def newest_answers(db: sqlite3.Connection, user: str, limit: int) -> dict[str, str]:
    """Return up to `limit` exchanges in which the user heard an answer, newest first: their ids,
    each with the id of its conversation. Hidden exchanges are left out."""
    hidden = hidden_exchanges(db, user)
    found = db.execute(
        "SELECT id, conversation FROM exchange WHERE user = ? AND assistant_text != ''"
        " ORDER BY ended DESC, rowid DESC",
        (user,),
    )
    return dict([row for row in found if row[0] not in hidden][:limit])


# -- forgetting ------------------------------------------------------------------------------------


def hidden_exchanges(db: sqlite3.Connection, user: str) -> set[str]:
    """Return the ids of the exchanges that are hidden, because the user has asked to forget
    them."""
    query = "SELECT value FROM hidden, json_each(hidden.exchanges) WHERE hidden.user = ?"
    return {row[0] for row in db.execute(query, (user,))}


def held(db: sqlite3.Connection, user: str, exchanges: Collection[str]) -> set[str]:
    """Return which of the given ids belong to stored exchanges of this user, hidden or not."""
    if len(exchanges) > LOOKED_UP:
        every = db.execute("SELECT id FROM exchange WHERE user = ?", (user,))
        return {row[0] for row in every}.intersection(exchanges)
    query = f"SELECT id FROM exchange WHERE user = ? AND id IN ({places(exchanges)})"
    return {row[0] for row in db.execute(query, (user, *exchanges))}


def suppress(
    db: sqlite3.Connection, user: str, tellings: Iterable[tuple[str, str]], at: int
) -> None:
    """Record that memories expired, or that the user deleted or changed them. Such memories are not
    created again. A record is deleted together with its exchange.

    Args:
        tellings: pairs of the ids of an exchange and of a memory derived from it. Unknown exchanges
            are skipped.
        at: the current time, in microseconds since 1970, UTC.
    """
    db.executemany(
        "INSERT OR REPLACE INTO expired SELECT id, ?, user, ? FROM exchange"
        " WHERE id = ? AND user = ?",
        [(memory, at, exchange, user) for exchange, memory in tellings],
    )


# -- outputs derived from exchanges ----------------------------------------------------------------


def derived(
    db: sqlite3.Connection, user: str, kind: str, subjects: Collection[str] | None
) -> list[DerivedRow]:
    """Return the outputs of one kind about these subjects, or about all subjects if None."""
    query = "SELECT number, subject, content FROM derived WHERE user = ? AND kind = ?"
    if subjects is None:
        return db.execute(query, (user, kind)).fetchall()
    rows: list[DerivedRow] = []
    for part in parts(subjects):
        rows += db.execute(f"{query} AND subject IN ({places(part)})", (user, kind, *part))
    return rows


def derived_subjects(
    db: sqlite3.Connection, user: str, kind: str, version: int, subjects: Collection[str]
) -> set[str]:
    """Return which of the given subjects have an output of this kind and version."""
    query = "SELECT subject FROM derived WHERE user = ? AND kind = ? AND version = ?"
    found: set[str] = set()
    for part in parts(subjects):
        rows = db.execute(f"{query} AND subject IN ({places(part)})", (user, kind, version, *part))
        found.update(row[0] for row in rows)
    return found


def derived_from(db: sqlite3.Connection, exchanges: Collection[str]) -> set[int]:
    """Return the numbers of the outputs that are based on at least one of these exchanges."""
    found: set[int] = set()
    for part in parts(exchanges):
        query = f"SELECT derived FROM derived_source WHERE exchange IN ({places(part)})"
        found.update(row[0] for row in db.execute(query, part))
    return found


def sources(db: sqlite3.Connection, number: int) -> tuple[str, ...]:
    """Return the ids of the exchanges on which the output with this number is based."""
    rows = db.execute("SELECT exchange FROM derived_source WHERE derived = ?", (number,))
    return tuple(row[0] for row in rows)


def name_conversation(
    db: sqlite3.Connection, conversation: Conversation, started: datetime
) -> None:
    """Insert the conversation's row if it is missing."""
    db.execute(
        "INSERT OR IGNORE INTO conversation VALUES (?, ?, ?)",
        (conversation.id, conversation.user, microseconds(started)),
    )


def delete_exchanges(db: sqlite3.Connection, user: str, exchange_ids: Collection[str]) -> int:
    """Delete exchanges, the summaries that cover them, and conversations that are now empty; return
    how many exchanges existed."""
    gone, ids = 0, frozenset(exchange_ids)
    for part in parts(ids):
        query = f"DELETE FROM exchange WHERE user = ? AND id IN ({places(part)})"
        gone += db.execute(query, (user, *part)).rowcount
    query = "SELECT id, covers FROM summary WHERE user = ?"
    for key, covers in db.execute(query, (user,)).fetchall():
        if not ids.isdisjoint(json.loads(covers)):
            db.execute("DELETE FROM summary WHERE user = ? AND id = ?", (user, key))
    empty = "NOT IN (SELECT conversation FROM exchange)"
    db.execute(f"DELETE FROM summary WHERE user = ? AND conversation {empty}", (user,))
    db.execute(f"DELETE FROM conversation WHERE user = ? AND id {empty}", (user,))
    return gone
