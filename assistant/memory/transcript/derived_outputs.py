"""Stores the outputs that models derive from exchanges while nobody is speaking, such as
descriptions, questions and facts. Outputs never change the exchanges, and can be derived again.

Each output lists every exchange whose words the model saw. As soon as any of these exchanges is
deleted, the output is deleted in the same transaction. A new output is then derived from the
remaining exchanges.
"""

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from assistant.context import Exchange
from assistant.memory.records.stored_values import microseconds
from assistant.memory.transcript import rows
from assistant.memory.transcript.database import Transcript


@dataclass(frozen=True, slots=True)
class DerivedOutput:
    """An output about one subject. The subject is the id of an exchange or of a span of turns.

    `content` is JSON-compatible. `sources` are the ids of all exchanges whose words the model saw.
    """

    subject: str
    content: Any
    sources: tuple[str, ...]


class DerivedOutputs:
    """One user's derived outputs. Thread-safe.

    Each call blocks for about a millisecond and may raise StoreError. A call that raises StoreError
    has changed nothing.
    """

    def __init__(self, transcript: Transcript, user: str) -> None:
        self._transcript = transcript
        self._user = user

    def keep(
        self, kind: str, version: int, model: str, output: DerivedOutput, now: datetime
    ) -> bool:
        """Store an output in place of any earlier output of the same kind and subject. Return
        whether it was stored. It is not stored if one of its sources was deleted or is hidden.

        Raises:
            ValueError: the output has no source.
        """
        if not output.sources:
            raise ValueError("a derived output needs at least one source")
        with self._transcript.writing() as db:
            if not self._readable(db, output.sources):
                return False
            key = (self._user, kind, output.subject)
            db.execute("DELETE FROM derived WHERE user = ? AND kind = ? AND subject = ?", key)
            content = json.dumps(output.content, ensure_ascii=False)
            number = db.execute(
                "INSERT INTO derived (user, kind, subject, version, model, made, content)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*key, version, model, microseconds(now), content),
            ).lastrowid
            db.executemany(
                "INSERT INTO derived_source VALUES (?, ?)",
                [(number, each) for each in dict.fromkeys(output.sources)],
            )
        return True

    def missing(self, kind: str, version: int, limit: int) -> list[str]:
        """Return the ids of up to `limit` exchanges without an output of this version, newest
        first. Hidden exchanges are left out."""
        with self._transcript.reading() as db:
            hidden = rows.hidden_exchanges(db, self._user)
            found = db.execute(
                "SELECT id FROM exchange WHERE user = ?1 AND NOT EXISTS"
                " (SELECT 1 FROM derived WHERE user = ?1 AND kind = ?2 AND subject = exchange.id"
                " AND version = ?3) ORDER BY started DESC, rowid DESC LIMIT ?4",
                (self._user, kind, version, limit + len(hidden)),
            ).fetchall()
        return [row[0] for row in found if row[0] not in hidden][:limit]

    def lacking(
        self, kind: str, version: int, exchanges: Sequence[str]
    ) -> list[tuple[str, Exchange]]:
        """Return the given exchanges that lack an output of this version, in the given order, each
        with the id of its conversation. Hidden exchanges are left out."""
        with self._transcript.reading() as db:
            hidden = rows.hidden_exchanges(db, self._user)
            made = rows.derived_subjects(db, self._user, kind, version, exchanges)
        ids = [each for each in exchanges if each not in hidden and each not in made]
        found = {
            each.id: (talk, each) for talk, each in self._transcript.exchanges(self._user, ids)
        }
        return [found[each] for each in ids if each in found]

    def readable(self, exchanges: Collection[str]) -> bool:
        """Whether all of these exchanges exist and none of them is hidden."""
        with self._transcript.reading() as db:
            return self._readable(db, exchanges)

    def of(self, kind: str, subjects: Collection[str] | None = None) -> Mapping[str, Any]:
        """Return the contents of outputs of any version, by subject. Outputs based on hidden
        exchanges are left out.

        Args:
            subjects: return only outputs about these subjects; None means all subjects.
        """
        with self._transcript.reading() as db:
            found = rows.derived(db, self._user, kind, subjects)
            hidden = rows.derived_from(db, rows.hidden_exchanges(db, self._user))
        return {
            subject: json.loads(content)
            for number, subject, content in found
            if number not in hidden
        }

    def _readable(self, db: sqlite3.Connection, exchanges: Collection[str]) -> bool:
        wanted = set(exchanges)
        hidden = rows.hidden_exchanges(db, self._user)
        return hidden.isdisjoint(wanted) and rows.held(db, self._user, wanted) == wanted
