"""The transcript's tables, and the migrations of older files.

Times are microseconds since 1970, UTC. `covers`, `latency`, `memories`, `exchanges` and `content`
are JSON. The tables `hidden`, `forgotten`, `forgotten_state`, `expired` and `job` contain no user
text.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from assistant.errors import StoreError

FIRST = (
    """CREATE TABLE conversation (
        id TEXT PRIMARY KEY, user TEXT NOT NULL, started INTEGER NOT NULL
    ) STRICT""",
    """CREATE TABLE exchange (
        id TEXT PRIMARY KEY,
        conversation TEXT NOT NULL REFERENCES conversation (id),
        turn INTEGER NOT NULL,
        user TEXT NOT NULL,
        started INTEGER NOT NULL,
        ended INTEGER NOT NULL,
        user_text TEXT NOT NULL,
        assistant_text TEXT NOT NULL,
        interrupted INTEGER NOT NULL,
        latency TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX exchange_by_conversation ON exchange (user, conversation, started)",
    "CREATE INDEX exchange_by_time ON exchange (user, ended)",
    """CREATE TABLE summary (
        id TEXT PRIMARY KEY,
        conversation TEXT NOT NULL REFERENCES conversation (id),
        user TEXT NOT NULL,
        created INTEGER NOT NULL,
        text TEXT NOT NULL,
        covers TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX summary_by_conversation ON summary (user, conversation, created)",
)
INJECTED_MEMORIES = ("ALTER TABLE exchange ADD COLUMN memories TEXT NOT NULL DEFAULT '[]'",)
"""Adds a column for the log of recalls. The module `recall_log` describes its format."""
EXPIRED = (
    """CREATE TABLE expired (
        exchange TEXT NOT NULL REFERENCES exchange (id) ON DELETE CASCADE,
        memory TEXT NOT NULL,
        user TEXT NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (exchange, memory)
    ) STRICT""",
)
FORGETTING = (
    """CREATE TABLE hidden (
        id TEXT PRIMARY KEY,
        user TEXT NOT NULL,
        asked INTEGER NOT NULL,
        due INTEGER NOT NULL,
        exchanges TEXT NOT NULL,
        memories TEXT NOT NULL
    ) STRICT""",
    """CREATE TABLE forgotten (
        exchange TEXT PRIMARY KEY,
        user TEXT NOT NULL,
        at INTEGER NOT NULL
    ) STRICT""",
)
JOBS = (
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
    ) STRICT""",
    "CREATE INDEX job_in_turn ON job (user, kind, state, attempts, number)",
    "CREATE INDEX job_by_subject ON job (user, subject)",
    # A subject need not be an exchange, so no foreign key is possible.
    "CREATE TRIGGER job_of_exchange AFTER DELETE ON exchange BEGIN"
    " DELETE FROM job WHERE user = OLD.user AND subject = OLD.id; END",
    "CREATE TRIGGER job_of_conversation AFTER DELETE ON conversation BEGIN"
    " DELETE FROM job WHERE user = OLD.user AND subject = OLD.id; END",
    "CREATE TABLE idle_pause (user TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT",
)
DERIVED = (
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
    ) STRICT""",
    """CREATE TABLE derived_source (
        derived INTEGER NOT NULL REFERENCES derived (number) ON DELETE CASCADE,
        exchange TEXT NOT NULL REFERENCES exchange (id) ON DELETE CASCADE,
        PRIMARY KEY (derived, exchange)
    ) STRICT""",
    "CREATE INDEX derived_by_source ON derived_source (exchange)",
    "CREATE TRIGGER derived_without_source AFTER DELETE ON derived_source BEGIN"
    " DELETE FROM derived WHERE number = OLD.derived; END",
)
STATE = (
    """CREATE TABLE state (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        user TEXT NOT NULL,
        kind TEXT NOT NULL,
        parent TEXT NOT NULL,
        created INTEGER NOT NULL,
        changed INTEGER NOT NULL,
        content TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX state_by_kind ON state (user, kind, parent, number)",
    """CREATE TABLE state_change (
        number INTEGER PRIMARY KEY,
        entry TEXT NOT NULL REFERENCES state (id) ON DELETE CASCADE,
        at INTEGER NOT NULL,
        exchange TEXT NOT NULL,
        content TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX state_change_by_entry ON state_change (entry, number)",
)
"""Timers, lists, forms and the like. The package `assistant.state` describes them. `state_change`
contains earlier contents of entries, each with the exchange whose words replaced it."""
FORGOTTEN_STATE = (
    """CREATE TABLE forgotten_state (
        user TEXT NOT NULL, mark TEXT NOT NULL, PRIMARY KEY (user, mark)
    ) STRICT""",
)
"""Stores the marks (see `mark_of`) of purged entries of the state. Imports skip these entries."""
SPAN_JOBS = (
    "DROP TRIGGER job_of_conversation",
    # ":" comes right after the digits in ASCII.
    "CREATE TRIGGER job_of_span AFTER DELETE ON exchange BEGIN"
    " DELETE FROM job WHERE user = OLD.user"
    " AND subject BETWEEN OLD.conversation || '-summary' AND OLD.conversation || '-summary:'; END",
    "DELETE FROM job WHERE kind = 'summarise'",
)
"""When an exchange is deleted, also deletes the jobs that summarise spans of its conversation. So
far, these jobs outlived the exchange. Jobs that are still needed are queued again."""

MIGRATIONS: Sequence[Sequence[str]] = (
    FIRST,
    INJECTED_MEMORIES,
    EXPIRED,
    FORGETTING,
    JOBS,
    DERIVED,
    STATE,
    FORGOTTEN_STATE,
    SPAN_JOBS,
)
"""The SQL statements of each migration. The first migration leads from version 0 of the schema to
version 1, the second from 1 to 2, and so on. SQLite's `user_version` is the version of a file."""


def migrate(db: sqlite3.Connection, path: Path) -> None:
    """Apply the migrations that the open transcript at `path` lacks.

    Raises:
        StoreError: a newer version of this program wrote the transcript.
    """
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise StoreError(
            f"The transcript {path} was written by a newer version of this program.",
            mend="Update the program, or choose another folder with --home DIR.",
        )
    for number, statements in enumerate(MIGRATIONS[version:], start=version + 1):
        db.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
