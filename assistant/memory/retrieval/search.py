"""Searches a user's index for memories that help to answer a question. Candidates are found by
words, by meaning, and by the time or person that the question names; then all are ranked
together."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.records.arrays import NONE, Cosines, Places, Rows, Values
from assistant.memory.records.memory import MemoryKind
from assistant.memory.retrieval.deadline import SearchDeadline
from assistant.memory.retrieval.document_expansion import DocumentExpansion
from assistant.memory.retrieval.lexical_index import LexicalIndex
from assistant.memory.retrieval.question import Question
from assistant.memory.retrieval.ranking import (
    Candidates,
    Evidence,
    Features,
    Ranked,
    Ranking,
    rank,
    rank_in_brief,
)
from assistant.memory.retrieval.recap import rows_in_scope, with_recap_bonus
from assistant.memory.retrieval.results import RecalledMemory, without_redundant
from assistant.memory.retrieval.row_metadata import RowMetadata
from assistant.memory.retrieval.time_index import TimeAsked, time_asked
from assistant.memory.retrieval.vectors.dense_index import DenseIndex, QueryVectors
from assistant.memory.retrieval.vectors.tiers import Tier

CANDIDATES = 80
"""Number of candidates found by words; the same number is found by meaning. For each of them, the
rows just before and after it in its conversation are added. With 200, the best twelve results are
no better, and ranking takes twice as long."""
CONSTRAINED = 200
"""Maximum number of candidates found by the time or person that the question names, even if they
share no words with it. If more match, those nearest in meaning are taken."""
COMPARED = 2_000
"""Maximum number of rows with the named time or person, newest first, from which `CONSTRAINED` are
chosen."""
READ = 1_000
"""Number of characters at the beginning of a memory that are searched for the question's words, to
show why the memory was found."""
NEWEST = 100
"""Number of the newest memories that are searched for the user's newest statements."""
REPEATING = 6
"""Number of additional memories that are ranked. They replace results that only repeat the question
or another result."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a `UserIndex` that a search uses. All have the same row numbers."""

    lexicon: TextAnalyzer
    lexical: LexicalIndex
    vectors: DenseIndex
    expansions: DocumentExpansion
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
    """Return the k best results, best first, without earlier instances of the same question. After
    them come all other memories that correct an exchange in the prompt, because the model would
    otherwise believe that exchange. Call this only while holding the index's lock.

    Args:
        exclude: ids of the exchanges in the prompt, whose memories are left out.
        limit: the deadline. If there is no time for the full ranking, results are ranked only by
            words and meaning; if there is no time for the search by meaning, only by words.
    """
    columns, found = parts.columns, _best(_Search(parts, question, k, now, exclude), meaning, limit)
    corrections = corrections_of(columns, exclude, now)
    if not corrections:
        return found
    best = [replace(each, corrects=columns.row_of[each.id] in corrections) for each in found]
    rest = corrections - {columns.row_of[each.id] for each in found}
    why: dict[str, Any] = {"score": 0.0, "parts": {}, "words": (), "corrects": True}
    return best + [_recalled(columns, row, **why) for row in sorted(rest, reverse=True)]


def _best(search: "_Search", meaning: QueryVectors, limit: SearchDeadline) -> list[RecalledMemory]:
    meaning = search.parts.vectors.usable(meaning)
    known = any(vector is not None for vector in meaning)
    if not limit.after_words(meaning=known):
        return search.in_brief(QueryVectors(), np.empty(0, np.int64))
    near = search.near(meaning)
    if known and not limit.after_meaning():
        return search.in_brief(meaning, near)
    return search.in_full(meaning, near)


class _Search:
    """One search. The question's words are matched when it is created."""

    def __init__(
        self, parts: Parts, question: Question, k: int, now: datetime, exclude: Collection[str]
    ) -> None:
        self.parts, self.question, self.now, self.exclude = parts, question, now, exclude
        self.k = k
        self.count = max(CANDIDATES, k + REPEATING)
        """Number of candidates to find by words; the same number is found by meaning."""
        self.own, self.context = parts.lexical.score(question.words)
        self.when = self._time()
        self.linked = self._naming()

    def _time(self) -> TimeAsked | None:
        """Return the time that the question names; None if it names none, or if times have no
        weight."""
        weights = self.parts.ranking
        if not (weights.times or weights.dated):
            return None
        when = time_asked(self.question.text, self.now)
        if when is not None and not weights.times:
            when = TimeAsked((), alone=False, when=when.when)
        return when

    def _naming(self) -> Values | None:
        """Return one value per row: 1 / n for a row that names a person whom the question mentions
        by relation ("my sister"), else 0; n is the number of people who may be meant. Return None
        if nobody is meant, or if such links have no weight."""
        columns, lexical = self.parts.columns, self.parts.lexical
        if not self.parts.ranking.linked:
            return None

        def allowed(rows: Iterable[int]) -> bool:
            """Return whether any of the rows may be recalled. Hidden memories must not reveal who
            is who."""
            return bool(columns.eligible(np.fromiter(rows, np.int64), (), self.now).any())

        shares = columns.roles.named(self.question.words, allowed)
        if not shares:
            return None
        linked = np.zeros(len(self.own))
        for share in sorted(set(shares.values())):
            names = " ".join(name for name, own in shares.items() if own == share)
            linked[lexical.score(names).own > 0] = share
        return linked

    def near(self, meaning: QueryVectors) -> Rows:
        """Return the rows nearest to the question in meaning."""
        vectors, expansions = self.parts.vectors, self.parts.expansions
        return np.concatenate(
            [vectors.near(meaning, self.count), expansions.near(meaning.quick, self.count)]
        )

    def in_full(self, meaning: QueryVectors, near: Rows) -> list[RecalledMemory]:
        """Return the k best results, ranked by all evidence.

        Args:
            near: the rows nearest in meaning.
        """
        columns, size = self.parts.columns, len(self.own)
        near = np.concatenate([near, self._constrained(meaning)])
        before, after = columns.before[:size], columns.after[:size]
        rows = to_be_ranked(self.own, near, before, after, self.count)
        rows, features = self._in_scope(rows)
        if not len(rows):
            return []
        candidates = Candidates(
            rows=rows,
            evidence=Evidence(
                self._cosines(meaning, rows).astype(np.float64),
                self.own[rows].astype(np.float64),
                self.context[rows].astype(np.float64),
                self.question.speaker,
                *columns.times.evidence(rows, self.when),
                None if self.linked is None else self.linked[rows],
            ),
            before=columns.before[rows],
            after=columns.after[rows],
            features=features,
        )
        return self._results(rank(candidates, self.parts.ranking, self.k + REPEATING))

    def in_brief(self, meaning: QueryVectors, near: Rows) -> list[RecalledMemory]:
        """Return the k best results, ranked mainly by words and, if `meaning` has a vector, by
        meaning. As in the full ranking, a memory that supersedes a result is ranked above it."""
        rows = np.concatenate([best_by_words(self.own, self.count), near])
        rows = np.unique(np.concatenate([rows, self.parts.columns.successors(rows)]))
        rows, features = self._in_scope(rows)
        if not len(rows):
            return []
        evidence = Evidence(
            self._cosines(meaning, rows).astype(np.float64),
            self.own[rows].astype(np.float64),
            np.zeros(len(rows)),
            self.question.speaker,
        )
        return self._results(
            rank_in_brief(rows, evidence, features, self.parts.ranking, self.k + REPEATING)
        )

    def _cosines(self, meaning: QueryVectors, rows: Rows) -> Cosines:
        """Return the rows' cosines with the question; NaN for rows without a vector."""
        own = self.parts.vectors.cosines(meaning, rows)
        return self.parts.expansions.cosines(meaning.quick, rows, own)

    def _constrained(self, meaning: QueryVectors) -> Rows:
        """Return rows with the time or person that the question names."""
        rows: Rows = np.empty(0, np.int64)
        if self.when is not None:
            rows = self.parts.columns.times.within(self.when, len(self.own))[-COMPARED:]
        if self.linked is not None:
            linked = np.flatnonzero(self.linked[: len(self.own)])[-COMPARED:]
            rows = np.union1d(rows, linked)
        if len(rows) <= CONSTRAINED:
            return rows
        cosines = np.nan_to_num(self._cosines(meaning, rows))
        return rows[np.argpartition(-cosines, CONSTRAINED)[:CONSTRAINED]]

    def _in_scope(self, rows: Rows) -> tuple[Rows, Features]:
        """Return the rows that may answer the question, and their features. If a time is all that
        the question specifies, rows from other times are dropped."""
        columns = self.parts.columns
        rows, recap = rows_in_scope(columns, rows, self.question.text, self.exclude, self.now)
        if not recap and self.when is not None and self.when.alone:
            rows = columns.times.belonging(rows, self.when)
        features = columns.features(rows, self.now)
        return rows, with_recap_bonus(columns, rows, features) if recap else features

    def _results(self, ranked: Sequence[Ranked]) -> list[RecalledMemory]:
        """Return the first k results, without those that only repeat the question or a better
        result."""
        parts, rows = self.parts, [each.row for each in ranked]
        asked = parts.lexicon.terms(self.question.text)
        whole = self.question.words == self.question.text
        matches = self.own[rows] > 0 if whole else np.ones(len(rows), np.bool_)
        known = ranked, parts.vectors.quick.tiers(rows), matches
        return list(islice(without_redundant(map(partial(_found, parts, asked), *known)), self.k))


def best_by_words(own: NDArray[np.floating], count: int) -> Places:
    """Return the `count` rows that match best by words, unsorted; fewer if fewer match at all."""
    matching: Places = np.flatnonzero(own > 0)
    if len(matching) > count:
        evidence = own[matching]
        least = np.partition(evidence, -count)[-count]  # argpartition would take far longer
        better, level = matching[evidence > least], matching[evidence == least]
        # If rows at the limit have equal scores, the newest are taken.
        matching = np.concatenate([better, level[len(better) - count :]])
    return matching


def to_be_ranked(
    own: NDArray[np.floating], near: Places, before: Places, after: Places, count: int
) -> Places:
    """Return the rows to rank, ascending: the `count` best by words, the rows nearest in meaning,
    and the rows before and after each of these in its conversation.

    Args:
        own: evidence by words for all rows.
        near: the rows nearest in meaning.
        before, after: for each row, the row said just before or after it, or `NONE`.
    """
    chosen = np.concatenate([best_by_words(own, count), near])
    around = np.sort(np.concatenate([chosen, before[chosen], after[chosen]]))
    # Drop duplicates. `np.unique` would take ten times as long for so few.
    new = around != NONE
    new[1:] &= around[1:] != around[:-1]
    rows: Places = around[new]
    return rows


def corrections_of(columns: RowMetadata, exchanges: Collection[str], now: datetime) -> set[int]:
    """Return the rows that supersede, directly or through other rows, those based on these
    exchanges. Rows that are superseded themselves, or based on these exchanges, are left out. The
    result is usually empty."""
    rows = columns.based_on(exchanges, ()) if columns.superseded_by else set()
    newer = columns.with_versions({row for row in rows if row in columns.superseded_by}) - rows
    last = np.array(sorted(newer.difference(columns.superseded_by)), np.int64)
    return set(last[columns.eligible(last, exchanges, now)].tolist())


def newest_stated(
    columns: RowMetadata, k: int, exclude: Collection[str], now: datetime
) -> list[RecalledMemory]:
    """Return the user's newest statements, newest first. Call it only while holding the index's
    lock.

    Args:
        exclude: ids of exchanges whose memories are left out.
    """
    rows = columns.living()[-NEWEST:]
    rows = rows[columns.eligible(rows, exclude, now)][::-1]
    own = (row for row in rows.tolist() if columns.speakers[row] == USER and columns.states(row))
    return [_recalled(columns, row, score=0.0, parts={}, words=()) for row in islice(own, k)]


def _found(
    parts: Parts, asked: Mapping[str, set[str]], ranked: Ranked, tier: Tier, matches: bool
) -> RecalledMemory:
    """Make a result from a ranked row.

    Args:
        asked: the question's words, each with its stems.
        matches: whether the memory may contain one of these words. This is unknown for summaries,
            which are not in the lexical index.
    """
    columns, row = parts.columns, ranked.row
    states = columns.states(row)
    read = matches or not states or columns.kinds[row] is MemoryKind.SUMMARY
    there = set(parts.lexicon.content(columns.texts[row][:READ])) if read else set()
    return _recalled(
        columns,
        row,
        score=ranked.score,
        parts=ranked.parts,
        words=tuple(word for word, stems in asked.items() if not stems.isdisjoint(there)),
        tier=tier,
        adds=states or not there.issubset(chain.from_iterable(asked.values())),
    )


def _recalled(columns: RowMetadata, row: int, **why: Any) -> RecalledMemory:
    return RecalledMemory(
        id=columns.ids[row],
        text=columns.texts[row],
        kind=columns.kinds[row],
        speaker=columns.speakers[row],
        created=columns.created(row),
        superseded_by=columns.superseded_by.get(row),
        sources=columns.sources[row],
        **why,
    )
