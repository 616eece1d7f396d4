"""The outputs that models derive from exchanges while nobody speaks: descriptions, questions,
facts. They are stored beside the exchanges, never change them, and can be derived again.

Each output names every exchange whose words the model saw, and is deleted in the same transaction
as the first of these exchanges. Its subject then lacks an output again, and a new output is derived
from the remaining exchanges.
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
    """An output about one subject, which is the id of an exchange or a conversation.

    `content` is JSON-compatible. `sources` are the ids of all exchanges that went into it.
    """

    subject: str
    content: Any
    sources: tuple[str, ...]


class DerivedOutputs:
    """One user's outputs. All calls block for about a millisecond, and may raise StoreError:
    nothing has changed then. Thread-safe."""

    def __init__(self, transcript: Transcript, user: str) -> None:
        self._transcript = transcript
        self._user = user

    def keep(
        self, kind: str, version: int, model: str, output: DerivedOutput, now: datetime
    ) -> bool:
        """Store an output, replacing an earlier one of its kind and subject. Returns False if a
        source has been deleted or hidden meanwhile.

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
        """Exchanges without an output of this version, newest first; hidden ones are left out."""
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
        """The given exchanges that lack an output of this version and are not hidden, in the same
        order, each with its conversation's id."""
        with self._transcript.reading() as db:
            hidden = rows.hidden_exchanges(db, self._user)
            made = rows.derived_subjects(db, self._user, kind, version, exchanges)
        ids = [each for each in exchanges if each not in hidden and each not in made]
        found = {
            each.id: (talk, each) for talk, each in self._transcript.exchanges(self._user, ids)
        }
        return [found[each] for each in ids if each in found]

    def readable(self, exchanges: Collection[str]) -> bool:
        """Whether all of these exchanges exist and none is hidden."""
        with self._transcript.reading() as db:
            return self._readable(db, exchanges)

    def of(self, kind: str, subjects: Collection[str] | None = None) -> Mapping[str, Any]:
        """Contents by subject, of outputs of any version, about these subjects or all. Leaves out
        outputs based on hidden exchanges."""
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
