"""Conversion between exchanges and rows of the transcript's tables."""

import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from assistant.context import Exchange
from assistant.memory.records.stored_values import microseconds, time_of
from assistant.memory.transcript.hidden_rows import hidden_exchanges


class Read(Protocol):
    """Read access to the transcript."""

    def reading(self) -> AbstractContextManager[sqlite3.Connection]: ...


class Written(Read, Protocol):
    """Write access to the transcript."""

    def writing(self) -> AbstractContextManager[sqlite3.Connection]: ...

    def rewrite(self) -> None: ...


EXCHANGE = "id, turn, user_text, started, assistant_text, interrupted, ended"


def exchange_of(row: Sequence[Any]) -> Exchange:
    """From the columns of `EXCHANGE`."""
    key, turn, said, started, answer, interrupted, ended = row
    return Exchange(key, turn, said, time_of(started), answer, bool(interrupted), time_of(ended))


def before(transcript: Read, user: str, exchange: Exchange, count: int) -> list[Exchange]:
    """The exchanges just before this one in its conversation, oldest first, without hidden ones.

    Raises:
        StoreError: the transcript can't be read.
    """
    with transcript.reading() as db:
        hidden = hidden_exchanges(db, user)
        rows = db.execute(
            f"SELECT {EXCHANGE} FROM exchange WHERE user = ?1 AND started < ?2 AND conversation ="
            " (SELECT conversation FROM exchange WHERE id = ?3)"
            " ORDER BY started DESC, rowid DESC LIMIT ?4",
            (user, microseconds(exchange.started), exchange.id, count + len(hidden)),
        ).fetchall()
    found = [exchange_of(row) for row in rows if row[0] not in hidden]
    return found[:count][::-1]
