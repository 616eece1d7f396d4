"""The queue of idle work, as rows of the transcript's file: ids, times and the names of errors, no
words. What leaves the transcript takes its rows along, in the same transaction."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from assistant.memory.transcript.hidden_rows import hidden_exchanges

State = Literal["waiting", "running", "dead"]


@dataclass(frozen=True, slots=True)
class FailedJob:
    """What was given up: `error` is the name of an exception's class."""

    kind: str
    subject: str
    attempts: int
    error: str


def add_tables(db: sqlite3.Connection) -> None:
    """A migration. Times are microseconds since 1970, UTC."""
    db.execute(
        """CREATE TABLE job (
            number INTEGER PRIMARY KEY,
            user TEXT NOT NULL,
            kind TEXT NOT NULL,
            subject TEXT NOT NULL,
            version INTEGER NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'dead')),
            attempts INTEGER NOT NULL,
            not_before INTEGER NOT NULL,
            error TEXT NOT NULL,
            enqueued INTEGER NOT NULL,
            UNIQUE (user, kind, subject)
        ) STRICT"""
    )
    db.execute("CREATE INDEX job_in_turn ON job (user, kind, state, attempts, number)")
    db.execute("CREATE INDEX job_by_subject ON job (user, subject)")
    # A subject may be either, so it can't refer to one of both.
    for table in ("exchange", "conversation"):
        db.execute(
            f"CREATE TRIGGER job_of_{table} AFTER DELETE ON {table} BEGIN"
            " DELETE FROM job WHERE user = OLD.user AND subject = OLD.id; END"
        )
    db.execute("CREATE TABLE idle_pause (user TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT")


def add(
    db: sqlite3.Connection, user: str, kind: str, version: int, subjects: Iterable[str], now: int
) -> int:
    """Those that are not there yet, nor forgotten; returns how many."""
    before = db.total_changes
    db.executemany(
        "INSERT OR IGNORE INTO job (user, kind, subject, version, state, attempts, not_before,"
        " error, enqueued) SELECT ?1, ?2, ?3, ?4, 'waiting', 0, 0, '', ?5"
        " WHERE NOT EXISTS (SELECT 1 FROM forgotten WHERE exchange = ?3)",
        [(user, kind, subject, version, now) for subject in subjects],
    )
    return db.total_changes - before


def renew(db: sqlite3.Connection, user: str, kind: str, version: int) -> int:
    """What was tried by another version's rules begins anew; returns how many."""
    return db.execute(
        "UPDATE job SET version = ?3, state = 'waiting', attempts = 0, not_before = 0, error = ''"
        " WHERE user = ?1 AND kind = ?2 AND version != ?3",
        (user, kind, version),
    ).rowcount


def drop_other_kinds(db: sqlite3.Connection, user: str, kinds: Sequence[str]) -> None:
    places = ", ".join("?" * len(kinds))
    db.execute(f"DELETE FROM job WHERE user = ? AND kind NOT IN ({places})", (user, *kinds))


def count(db: sqlite3.Connection, user: str, kind: str) -> tuple[int, int]:
    """All of a kind, and those of it that were never tried."""
    row = db.execute(
        "SELECT count(*), count(*) FILTER (WHERE state = 'waiting' AND attempts = 0) FROM job"
        " WHERE user = ? AND kind = ?",
        (user, kind),
    ).fetchone()
    return int(row[0]), int(row[1])


def counts(db: sqlite3.Connection, user: str) -> list[tuple[str, State, int]]:
    """By kind and state, without what is hidden."""
    every = "SELECT kind, state, count(*) FROM job WHERE user = ?1"
    found = db.execute(f"{every} GROUP BY kind, state", (user,)).fetchall()
    hidden = db.execute(
        f"{every} AND subject IN (SELECT value FROM hidden, json_each(hidden.exchanges)"
        " WHERE hidden.user = ?1) GROUP BY kind, state",
        (user,),
    )
    less = {(kind, state): number for kind, state, number in hidden}
    rows = [(kind, state, number - less.get((kind, state), 0)) for kind, state, number in found]
    return [row for row in rows if row[2]]


def fresh(db: sqlite3.Connection, user: str, kind: str, limit: int) -> list[str]:
    """Subjects that were never tried, in the order in which they came, without what is hidden."""
    return _shown(
        db,
        user,
        limit,
        "SELECT subject FROM job WHERE user = ? AND kind = ? AND state = 'waiting'"
        " AND attempts = 0 ORDER BY number",
        (user, kind),
    )


def again(db: sqlite3.Connection, user: str, kind: str, now: int, latest: int) -> list[str]:
    """The one subject that failed before and is due longest, if any.

    Args:
        latest: what is to wait for longer than until then was told so by a clock that has been set
            back since, and waits no more.
    """
    return _shown(
        db,
        user,
        1,
        "SELECT subject FROM job WHERE user = ? AND kind = ? AND state = 'waiting'"
        " AND attempts > 0 AND NOT not_before BETWEEN ? AND ? ORDER BY not_before, number",
        (user, kind, now + 1, latest),
    )


def begin(db: sqlite3.Connection, user: str, kind: str, subjects: Sequence[str]) -> None:
    db.executemany(
        "UPDATE job SET state = 'running' WHERE user = ? AND kind = ? AND subject = ?",
        [(user, kind, subject) for subject in subjects],
    )


def finish(db: sqlite3.Connection, user: str, kind: str, subjects: Sequence[str]) -> None:
    db.executemany(
        "DELETE FROM job WHERE user = ? AND kind = ? AND subject = ? AND state = 'running'",
        [(user, kind, subject) for subject in subjects],
    )


def fail(
    db: sqlite3.Connection,
    user: str,
    kind: str,
    subjects: Sequence[str],
    error: str,
    due: Sequence[int],
) -> int:
    """Returns how many are given up.

    Args:
        due: when to try again after the first failure, the second, …; with one more than these it
            is given up.
    """
    dead = 0
    for subject in subjects:
        key = (user, kind, subject)
        row = db.execute(
            "SELECT attempts FROM job WHERE user = ? AND kind = ? AND subject = ?", key
        ).fetchone()
        if row is None:  # forgotten meanwhile
            continue
        attempts = int(row[0]) + 1
        given_up = attempts > len(due)
        db.execute(
            "UPDATE job SET state = ?, attempts = ?, not_before = ?, error = ?"
            " WHERE user = ? AND kind = ? AND subject = ?",
            (
                "dead" if given_up else "waiting",
                attempts,
                0 if given_up else due[attempts - 1],
                error,
                *key,
            ),
        )
        dead += given_up
    return dead


def running(db: sqlite3.Connection, user: str) -> list[tuple[str, str]]:
    """Kind and subject of what was begun and neither finished nor failed."""
    query = "SELECT kind, subject FROM job WHERE user = ? AND state = 'running' ORDER BY number"
    return db.execute(query, (user,)).fetchall()


def release(db: sqlite3.Connection, user: str) -> None:
    """What was begun waits again, as if it had not been."""
    db.execute(
        "UPDATE job SET state = 'waiting' WHERE user = ? AND state = 'running'",
        (user,),
    )


def revive(db: sqlite3.Connection, user: str, kind: str | None) -> int:
    """What was given up waits again; returns how many."""
    return db.execute(
        "UPDATE job SET state = 'waiting', attempts = 0, not_before = 0, error = ''"
        " WHERE user = ?1 AND state = 'dead' AND (?2 IS NULL OR kind = ?2)",
        (user, kind),
    ).rowcount


def dead(db: sqlite3.Connection, user: str, limit: int) -> list[FailedJob]:
    """The newest first, without what is hidden."""
    hidden = hidden_exchanges(db, user)
    rows = db.execute(
        "SELECT kind, subject, attempts, error FROM job WHERE user = ? AND state = 'dead'"
        " ORDER BY number DESC LIMIT ?",
        (user, limit + len(hidden)),
    )
    return [FailedJob(*row) for row in rows if row[1] not in hidden][:limit]


def pause(db: sqlite3.Connection, user: str, at: int) -> None:
    db.execute("INSERT OR IGNORE INTO idle_pause VALUES (?, ?)", (user, at))


def resume(db: sqlite3.Connection, user: str) -> None:
    db.execute("DELETE FROM idle_pause WHERE user = ?", (user,))


def paused(db: sqlite3.Connection, user: str) -> int | None:
    """Since when, or None."""
    row = db.execute("SELECT at FROM idle_pause WHERE user = ?", (user,)).fetchone()
    return int(row[0]) if row is not None else None


# -- inside -------------------------------------------------------------------------------------


def _shown(
    db: sqlite3.Connection, user: str, limit: int, query: str, values: tuple[object, ...]
) -> list[str]:
    """The first subjects of a query that are not hidden."""
    hidden = hidden_exchanges(db, user)
    rows = db.execute(f"{query} LIMIT ?", (*values, limit + len(hidden)))
    return [row[0] for row in rows if row[0] not in hidden][:limit]
