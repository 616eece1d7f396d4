"""Summaries of spans of a conversation, as memories and as rows of the transcript's file.

A span is a fixed number of turns of one conversation: turns 1 to 12, 13 to 24, … Turns keep their
numbers when others are forgotten, so spans don't shift. A summary is based on all exchanges of its
span, is deleted with the first of them that is forgotten, and is created again from the rest.
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
from assistant.memory.transcript import derived_rows, suppressions
from assistant.memory.transcript.exchange_rows import Written
from assistant.memory.transcript.hidden_rows import hidden_exchanges

SUMMARISED = "summarise"
"""The kind of derived output; its content is a text, or None if there is nothing to tell or the
user deleted or changed it."""
FEWEST = 3
"""Minimum number of exchanges in a span worth a summary."""
OVER = timedelta(hours=1)
"""After this pause a conversation counts as over, and so does its last, incomplete span."""
IMPORTANCE = 0.4
"""Less than that of the words it is based on."""


@dataclass(frozen=True, slots=True)
class Span:
    """A span. `subject` identifies it by its conversation and its first turn."""

    subject: str
    conversation: str
    first: int
    exchanges: tuple[str, ...]


def memory_of(
    user: str, conversation: str, subject: str, text: str, exchanges: Collection[Exchange]
) -> Memory:
    """The memory of a summary. Its id follows from the span, so repeating this adds no doubles.

    Args:
        exchanges: all that it is based on; it is dated by the last of them.
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
    """The summaries based only on these exchanges, as memories, without a model."""
    made: list[Memory] = []
    for number, subject, content in derived_rows.contents(db, user, SUMMARISED, None):
        text = json.loads(content)
        sources = derived_rows.sources(db, number)
        if text is not None and set(sources) <= exchanges.keys():
            found = sorted((exchanges[each][1] for each in sources), key=lambda each: each.started)
            made.append(memory_of(user, exchanges[sources[0]][0], subject, text, found))
    return made


def suppress(db: sqlite3.Connection, user: str, subjects: Collection[str]) -> bool:
    """The user deleted or changed these summaries: delete their words here, and never create
    others in their place. Returns whether there were any."""
    rows = derived_rows.contents(db, user, SUMMARISED, subjects) if subjects else []
    now = microseconds(datetime.now(UTC))
    for number, subject, _ in rows:
        db.execute("UPDATE derived SET content = 'null' WHERE number = ?", (number,))
        pairs = [(each, subject) for each in derived_rows.sources(db, number)]
        suppressions.note(db, user, pairs, now)
    return bool(rows)


class ConversationSpans:
    """One user's spans of a fixed number of turns. Calls block for about a millisecond, and may
    raise StoreError: nothing has changed then. Thread-safe."""

    def __init__(self, transcript: Written, user: str, turns: int) -> None:
        self._transcript = transcript
        self._user = user
        self._turns = turns

    def without_summary(self, version: int, now: datetime, limit: int) -> list[str]:
        """Subjects of spans without a complete summary of this version, newest first. Leaves out
        spans that are still growing, or contain something that is being forgotten."""
        with self._transcript.reading() as db:
            rows = db.execute(
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
        return [row[0] for row in rows]

    def span(self, subject: str) -> Span | None:
        """The span as it is now; None if it is too short, or part of it is hidden."""
        match = _ID.fullmatch(subject)
        if match is None or (int(match["first"]) - 1) % self._turns:
            return None
        first = int(match["first"])
        with self._transcript.reading() as db:
            rows = db.execute(
                "SELECT id FROM exchange WHERE user = ? AND conversation = ?"
                " AND turn BETWEEN ? AND ? ORDER BY turn, started, rowid",
                (self._user, match["conversation"], first, first + self._turns - 1),
            ).fetchall()
            hidden = hidden_exchanges(db, self._user)
        ids = tuple(row[0] for row in rows)
        if len(ids) < FEWEST or not hidden.isdisjoint(ids):
            return None
        return Span(subject, match["conversation"], first, ids)

    def suppressed(self, span: Span) -> bool:
        """Whether the user deleted or changed a summary of these words, or it expired: it must not
        come back in any form."""
        with self._transcript.reading() as db:
            noted = suppressions.of(db, self._user, span.exchanges)
        return any(is_summary(each) for each in noted)

    def has_summary(self, span: Span, version: int) -> bool:
        """Whether there is a summary of this version, of everything in the span."""
        with self._transcript.reading() as db:
            if not derived_rows.made(db, self._user, SUMMARISED, version, [span.subject]):
                return False
            rows = derived_rows.contents(db, self._user, SUMMARISED, [span.subject])
            return {each for row in rows for each in derived_rows.sources(db, row[0])} == {
                *span.exchanges
            }

    def drop_overlapping(self, span: Span) -> list[str]:
        """Delete summaries of overlapping spans of another length; returns their subjects."""
        with self._transcript.writing() as db:
            resting = derived_rows.resting_on(db, span.exchanges)
            every = derived_rows.contents(db, self._user, SUMMARISED, None)
            others = [(n, key) for n, key, _ in every if n in resting and key != span.subject]
            db.executemany("DELETE FROM derived WHERE number = ?", [(n,) for n, _ in others])
        return [key for _, key in others]
