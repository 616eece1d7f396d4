"""The transcript's tables, and the migrations of older files."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from assistant.errors import StoreError
from assistant.memory.transcript import derived_rows, hidden_rows, job_queue, suppressions


def _first_tables(db: sqlite3.Connection) -> None:
    # Times are microseconds since 1970, UTC. `covers` and `latency` are JSON.
    for statement in (
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
    ):
        db.execute(statement)


def _injected_memories(db: sqlite3.Connection) -> None:
    # JSON: [[id, score], …] of the long-term memories in the turn's prompt; ids, not text.
    db.execute("ALTER TABLE exchange ADD COLUMN memories TEXT NOT NULL DEFAULT '[]'")


MIGRATIONS: Sequence[Callable[[sqlite3.Connection], None]] = (
    _first_tables,
    _injected_memories,
    suppressions.add_table,
    hidden_rows.add_tables,
    job_queue.add_tables,
    derived_rows.add_tables,
)
"""Each migrates the schema from its position in this list to the next; `user_version` counts."""


def migrate(db: sqlite3.Connection, path: Path) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise StoreError(
            f"The transcript {path} was written by a newer version of this program.",
            mend="Update the program, or choose another folder with --home DIR.",
        )
    for number, migration in enumerate(MIGRATIONS[version:], start=version + 1):
        db.execute("BEGIN IMMEDIATE")
        try:
            migration(db)
            db.execute(f"PRAGMA user_version = {number}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
