"""Stores summaries of spans of a conversation, and converts them to memories.

A span is a fixed number of turns of one conversation, e.g. turns 1 to 12, 13 to 24 and so on. Turns
keep their numbers when others are forgotten, so spans don't shift. A summary is based on all
exchanges of its span. When one of these is forgotten, the summary is deleted, and a new summary is
created from the remaining exchanges.
"""

import json
import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from assistant.context import Exchange
from assistant.language.calendar import day_words
from assistant.memory.records.ids import SUMMARY, is_summary
from assistant.memory.records.ids import SUMMARY_ID as _ID
from assistant.memory.records.memory import DERIVED_CONFIDENCE, Memory, MemoryKind
from assistant.memory.records.stored_values import microseconds
from assistant.memory.transcript import rows
from assistant.memory.transcript.database import Transcript

SUMMARISED = "summarise"
"""The kind of the derived outputs that contain summaries. The content is a string, or None if there
is nothing to summarise or the user deleted or changed the summary."""
FEWEST = 3
"""Minimum number of exchanges in a span that is summarised."""
OVER = timedelta(hours=1)
"""Pause after which a conversation counts as over, so that its last span is summarised even if it
is incomplete."""
IMPORTANCE = 0.4
"""Importance of a summary. It is lower than the importance of what the user said."""


@dataclass(frozen=True, slots=True)
class Span:
    """A span of turns. `subject` identifies the span by its conversation and its first turn.
    `exchanges` are the ids of the span's exchanges."""

    subject: str
    conversation: str
    first: int
    exchanges: tuple[str, ...]


def memory_of(
    user: str, conversation: str, subject: str, text: str, exchanges: Collection[Exchange]
) -> Memory:
    """Convert a summary to a memory. The memory's id is derived from the span, so that storing the
    memory again adds no duplicate.

    Args:
        exchanges: all exchanges on which the summary is based. The memory gets the last one's date.
    """
    last = max(each.started for each in exchanges)
    days = dict.fromkeys(day_words(each.started) for each in exchanges)
    return Memory(
        id=subject,
        user_id=user,
        kind=MemoryKind.SUMMARY,
        text=text,
        created=last,
        conversation=conversation,
        context=", ".join(days),
        importance=IMPORTANCE,
        confidence=DERIVED_CONFIDENCE,
        sources=tuple(each.id for each in exchanges),
    )


def stored_summaries(
    db: sqlite3.Connection, user: str, exchanges: Mapping[str, tuple[str, Exchange]]
) -> list[Memory]:
    """Return the stored summaries that are based only on these exchanges, as memories.

    Args:
        exchanges: the exchanges by their ids, each with the id of its conversation.
    """
    made: list[Memory] = []
    for number, subject, content in rows.derived(db, user, SUMMARISED, None):
        text = json.loads(content)
        sources = rows.sources(db, number)
        if text is not None and set(sources) <= exchanges.keys():
            found = sorted((exchanges[each][1] for each in sources), key=lambda each: each.started)
            made.append(memory_of(user, exchanges[sources[0]][0], subject, text, found))
    return made


def suppress(db: sqlite3.Connection, user: str, subjects: Collection[str]) -> bool:
    """Delete the texts of summaries that the user deleted or changed, and prevent new summaries of
    the same exchanges. Return whether any of these summaries was stored."""
    found = rows.derived(db, user, SUMMARISED, subjects)
    now = microseconds(datetime.now(UTC))
    for number, subject, _ in found:
        db.execute("UPDATE derived SET content = 'null' WHERE number = ?", (number,))
        tellings = [(each, subject) for each in rows.sources(db, number)]
        rows.suppress(db, user, tellings, now)
    return bool(found)


class ConversationSpans:
    """Finds one user's spans of `turns` turns each, and those that need a summary. Thread-safe.

    Each call blocks for about a millisecond and may raise StoreError. A call that raises StoreError
    has changed nothing.
    """

    def __init__(self, transcript: Transcript, user: str, turns: int) -> None:
        self._transcript = transcript
        self._user = user
        self._turns = turns

    def without_summary(self, version: int, now: datetime, limit: int) -> list[str]:
        """Return the subjects of up to `limit` spans without a complete summary of this version,
        newest first. Spans that are still growing or contain a hidden exchange are left out."""
        with self._transcript.reading() as db:
            found = db.execute(
                "SELECT conversation || '-' || ?4 || (part * ?3 + 1) FROM ("
                " SELECT conversation, (turn - 1) / ?3 AS part, count(*) AS size,"
                "  max(ended) AS ended, max(turn) AS last,"
                "  max(id IN (SELECT value FROM hidden, json_each(hidden.exchanges)"
                "   WHERE hidden.user = ?1)) AS hiding"
                "  FROM exchange WHERE user = ?1 GROUP BY conversation, part) AS span"
                " WHERE size >= ?5 AND NOT hiding"
                " AND (last % ?3 = 0 OR ended < ?6 OR EXISTS (SELECT 1 FROM exchange AS later"
                "  WHERE later.user = ?1 AND later.conversation = span.conversation"
                "  AND later.turn > (part + 1) * ?3))"
                " AND NOT EXISTS (SELECT 1 FROM derived WHERE user = ?1 AND kind = ?7"
                "  AND version = ?2 AND subject = conversation || '-' || ?4 || (part * ?3 + 1)"
                "  AND (SELECT count(*) FROM derived_source WHERE derived = number) = size)"
                " ORDER BY ended DESC LIMIT ?8",
                (
                    self._user,
                    version,
                    self._turns,
                    SUMMARY,
                    FEWEST,
                    microseconds(now - OVER),
                    SUMMARISED,
                    limit,
                ),
            ).fetchall()
        return [row[0] for row in found]

    def span(self, subject: str) -> Span | None:
        """Load a span from the transcript. Return None if the span is too short, or if one of its
        exchanges is hidden."""
        match = _ID.fullmatch(subject)
        if match is None or (int(match["first"]) - 1) % self._turns:
            return None
        first = int(match["first"])
        with self._transcript.reading() as db:
            found = db.execute(
                "SELECT id FROM exchange WHERE user = ? AND conversation = ?"
                " AND turn BETWEEN ? AND ? ORDER BY turn, started, rowid",
                (self._user, match["conversation"], first, first + self._turns - 1),
            ).fetchall()
            hidden = rows.hidden_exchanges(db, self._user)
        ids = tuple(row[0] for row in found)
        if len(ids) < FEWEST or not hidden.isdisjoint(ids):
            return None
        return Span(subject, match["conversation"], first, ids)

    def suppressed(self, span: Span) -> bool:
        """Whether a summary of one of the span's exchanges expired, or was deleted or changed by
        the user. If so, the span must not be summarised again."""
        places = rows.places(span.exchanges)
        query = f"SELECT memory FROM expired WHERE user = ? AND exchange IN ({places})"
        with self._transcript.reading() as db:
            found = db.execute(query, (self._user, *span.exchanges)).fetchall()
        return any(is_summary(row[0]) for row in found)

    def has_summary(self, span: Span, version: int) -> bool:
        """Whether a summary of this version covers the whole span."""
        with self._transcript.reading() as db:
            if not rows.derived_subjects(db, self._user, SUMMARISED, version, [span.subject]):
                return False
            found = rows.derived(db, self._user, SUMMARISED, [span.subject])
            covered = {each for row in found for each in rows.sources(db, row[0])}
        return covered == set(span.exchanges)

    def drop_overlapping(self, span: Span) -> list[str]:
        """Delete the summaries of other spans that share exchanges with `span`. Such spans are left
        over when the number of turns per span changes. Return their subjects."""
        with self._transcript.writing() as db:
            resting = rows.derived_from(db, span.exchanges)
            every = rows.derived(db, self._user, SUMMARISED, None)
            others = [(n, key) for n, key, _ in every if n in resting and key != span.subject]
            db.executemany("DELETE FROM derived WHERE number = ?", [(n,) for n, _ in others])
        return [key for _, key in others]
