"""Searches a user's indexes for a question: candidates found by words, meaning and constraints are
ranked together."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain, islice

import numpy as np

from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.records.arrays import Cosines, Rows
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.candidates import best_by_words, to_be_ranked
from assistant.memory.retrieval.deadline import SearchDeadline
from assistant.memory.retrieval.document_expansion import DocumentExpansion
from assistant.memory.retrieval.encoding import LONGEST_DOCUMENT
from assistant.memory.retrieval.lexical_index import Evidence as ByWords
from assistant.memory.retrieval.lexical_index import LexicalIndex
from assistant.memory.retrieval.query_constraints import QueryConstraints
from assistant.memory.retrieval.question import Question
from assistant.memory.retrieval.ranking import (
    Candidates,
    Evidence,
    Ranked,
    Ranking,
    rank,
    rank_in_brief,
)
from assistant.memory.retrieval.recap_scope import rows_in_scope, with_recap_bonus
from assistant.memory.retrieval.results import RecalledMemory, without_redundant
from assistant.memory.retrieval.row_metadata import RowMetadata
from assistant.memory.retrieval.vectors.dense_index import DenseIndex, QueryVectors
from assistant.memory.retrieval.vectors.tiers import Tier

CANDIDATES = 80
"""Candidates by words and by meaning each; their neighbours in the conversation are added. With
200, the best twelve are no better, and ranking takes twice as long."""
UNKNOWN = QueryVectors()
READ = 1_000
"""Characters of a memory that are checked for the question's words, to explain the result."""
NEWEST = 100
"""Memories among which the newest statements are looked for."""
REPEATING = 6
"""Ranked in addition, to replace results that only ask or say the same."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a `UserIndex` that a search uses; all have the same rows."""

    lexicon: TextAnalyzer
    lexical: LexicalIndex
    vectors: DenseIndex
    extras: DocumentExpansion
    columns: RowMetadata
    ranking: Ranking


def searched(
    parts: Parts,
    question: Question,
    meaning: QueryVectors,
    k: int,
    now: datetime,
    exclude: Collection[str],
    limit: SearchDeadline,
) -> list[RecalledMemory]:
    """The k best results, best first, without earlier instances of the same question. Call it under
    the index's lock.

    Args:
        exclude: exchanges whose memories are left out.
        limit: if it passes, only words count, or words and meaning if there was time for both.
    """
    search = _Search.by_words(parts, question, k, now, exclude)
    meaning = parts.vectors.usable(meaning)
    known = any(vector is not None for vector in meaning)
    if not limit.after_words(meaning=known):
        return search.in_brief()
    near = search.near(meaning)
    if known and not limit.after_meaning():
        return search.in_brief(meaning, near)
    chosen = search.candidates(meaning, near)
    if not len(chosen.rows):
        return []
    return search.best(rank(chosen, parts.ranking, k + REPEATING))


@dataclass(frozen=True, slots=True)
class _Search:
    """One search, with the evidence by words.

    Attributes:
        own, context: evidence by words for all rows.
    """

    parts: Parts
    question: Question
    k: int
    now: datetime
    exclude: Collection[str]
    own: ByWords
    context: ByWords
    clues: QueryConstraints

    @classmethod
    def by_words(
        cls, parts: Parts, question: Question, k: int, now: datetime, exclude: Collection[str]
    ) -> "_Search":
        lexical = parts.lexical.score(question.words)
        own = parts.extras.words(question.words, lexical.own)
        clues = QueryConstraints.of(question, parts.columns, parts.lexical, parts.ranking, now)
        return cls(parts, question, k, now, exclude, own, lexical.context, clues)

    @property
    def count(self) -> int:
        """Number of candidates by words, and by meaning."""
        return max(CANDIDATES, self.k + REPEATING)

    def near(self, meaning: QueryVectors) -> Rows:
        """The nearest rows by meaning."""
        vectors, extras = self.parts.vectors, self.parts.extras
        return np.concatenate(
            [vectors.near(meaning, self.count), extras.near(meaning.quick, self.count)]
        )

    def candidates(self, meaning: QueryVectors, near: Rows) -> Candidates:
        """All candidates with their features.

        Args:
            near: the nearest rows by meaning.
        """
        columns, size = self.parts.columns, len(self.own)
        cosines = partial(_cosines, self.parts, meaning)
        near = np.concatenate([near, self.clues.candidates(size, cosines)])
        before, after = columns.before[:size], columns.after[:size]
        rows = to_be_ranked(self.own, near, before, after, self.count)
        rows, broad = rows_in_scope(columns, rows, self.question.text, self.exclude, self.now)
        if broad is None:
            rows = self.clues.left(rows)
        return Candidates(
            rows=rows,
            evidence=Evidence(
                cosines(rows).astype(np.float64),
                self.own[rows].astype(np.float64),
                self.context[rows].astype(np.float64),
                self.question.speaker,
                *self.clues.evidence(rows),
            ),
            before=columns.before[rows],
            after=columns.after[rows],
            features=with_recap_bonus(columns, rows, columns.features(rows, self.now), broad),
            vectors=self.parts.vectors.reader(meaning, rows),
        )

    def in_brief(
        self, meaning: QueryVectors = UNKNOWN, near: Rows | None = None
    ) -> list[RecalledMemory]:
        """The k best by words and, if known, meaning alone; but a memory that supersedes a result
        comes before it."""
        columns = self.parts.columns
        rows = best_by_words(self.own, self.count)
        rows = rows if near is None else np.concatenate([rows, near])
        rows = np.unique(np.concatenate([rows, columns.successors(rows)]))
        rows, broad = rows_in_scope(columns, rows, self.question.text, self.exclude, self.now)
        if broad is None:
            rows = self.clues.left(rows)
        if not len(rows):
            return []
        cosines = _cosines(self.parts, meaning, rows).astype(np.float64)
        features = with_recap_bonus(columns, rows, columns.features(rows, self.now), broad)
        own, weights = self.own[rows].astype(np.float64), self.parts.ranking
        return self.best(rank_in_brief(rows, own, cosines, features, weights, self.k + REPEATING))

    def best(self, ranked: Sequence[Ranked]) -> list[RecalledMemory]:
        """The first k that say something new."""
        parts, rows = self.parts, [each.row for each in ranked]
        asked = parts.lexicon.terms(self.question.text)
        whole = self.question.words == self.question.text
        matches = self.own[rows] > 0 if whole else np.ones(len(rows), np.bool_)
        known = ranked, parts.vectors.quick.tiers(rows), matches
        return list(islice(without_redundant(map(partial(_found, parts, asked), *known)), self.k))


def _cosines(parts: Parts, meaning: QueryVectors, rows: Rows) -> Cosines:
    return parts.extras.cosines(meaning.quick, rows, parts.vectors.cosines(meaning, rows))


def newest_stated(
    columns: RowMetadata, k: int, exclude: Collection[str], now: datetime
) -> list[RecalledMemory]:
    """The user's newest statements, newest first. Call it under the index's lock.

    Args:
        exclude: exchanges whose memories are left out.
    """
    rows = columns.living()[-NEWEST:]
    rows = rows[columns.eligible(rows, exclude, now)][::-1]
    own = (row for row in rows.tolist() if columns.speakers[row] == USER and columns.states(row))
    return [
        RecalledMemory(
            id=columns.ids[row],
            text=columns.texts[row],
            kind=columns.kinds[row],
            speaker=USER,
            created=columns.created(row),
            score=0.0,
            parts={},
            words=(),
            superseded_by=columns.superseded_by.get(row),
            sources=columns.sources[row],
        )
        for row in islice(own, k)
    ]


def head(text: str) -> str:
    """The part of a text that is read: a pasted megabyte must not slow down recall for ever."""
    return text[:LONGEST_DOCUMENT]


def words_of(memory: Memory) -> tuple[str, str]:
    """Text and context for the lexical index. Empty for a summary: it is not searched by words, and
    would make its sources' words seem common."""
    if memory.kind is MemoryKind.SUMMARY:
        return "", ""
    return head(memory.text), memory.context


def _found(
    parts: Parts, asked: Mapping[str, set[str]], ranked: Ranked, tier: Tier, matches: bool
) -> RecalledMemory:
    """Make a result.

    Args:
        asked: the question's words and their stems.
        matches: whether it may contain any of them; unknown for summaries, which aren't indexed.
    """
    columns, row = parts.columns, ranked.row
    text = columns.texts[row]
    states = columns.states(row)
    read = matches or not states or columns.kinds[row] is MemoryKind.SUMMARY
    there = set(parts.lexicon.content(text[:READ])) if read else set()
    return RecalledMemory(
        id=columns.ids[row],
        text=text,
        kind=columns.kinds[row],
        speaker=columns.speakers[row],
        created=columns.created(row),
        score=ranked.score,
        parts=ranked.parts,
        words=tuple(word for word, stems in asked.items() if not stems.isdisjoint(there)),
        superseded_by=columns.superseded_by.get(row),
        sources=columns.sources[row],
        tier=tier,
        adds=states or not there.issubset(chain.from_iterable(asked.values())),
    )
