"""Full-text search over one user's memories, in RAM.

The score is *evidence*: BM25 (Lucene's variant, whose part for the term frequency is below 1)
divided by the sum of the query's idf. It lies in [0, 1): near 1 where every word of the query
stands in a short text, small where only common words do, whatever the query's length. A word that
no memory holds counts in the sum as the rarest of all: a query mostly of such words is a
paraphrase, on which this index has little to say.

A matrix is built once and for all. So the bulk of the rows stands in one and the newest ones in
plain dictionaries, found from the next query on; both are weighted by the document
frequencies of all rows. `merge` folds the new ones into the matrix.
"""

import math
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assistant.language.stemming import TextAnalyzer
from assistant.memory.retrieval.bm25_matrix import Segment, beyond
from assistant.memory.retrieval.vectors.kernels import COMPILED

Evidence = NDArray[np.float32]
"""Shape (rows,), in [0, 1)."""

BULK = 1_000
"""Rows given at once that go straight into the matrix."""


class Evidences(NamedTuple):
    """How well each row matches by its own text and by its context, for the caller to weight."""

    own: Evidence
    context: Evidence


class LexicalIndex:
    """Texts and their contexts, as two fields of rows 0..n-1. Thread-safe.

    Queries wait for a small change, never for `merge` or a large `add`.

    Args:
        k1: how much a repeated word counts; b: how much long texts are held back.
    """

    def __init__(self, lexicon: TextAnalyzer, *, k1: float = 1.5, b: float = 0.75) -> None:
        self.lexicon = lexicon
        self._fields = (_Field(k1, b), _Field(k1, b))
        self._rows = 0
        self._lock = threading.Lock()
        self._merging = threading.Lock()

    def __len__(self) -> int:
        """Rows, removed ones included."""
        return self._rows

    @property
    def unmerged(self) -> int:
        """New, changed and removed rows that `merge` would fold in."""
        with self._lock:
            return max(len(field.fresh.documents) + len(field.dead) for field in self._fields)

    def add(self, texts: Sequence[str], contexts: Sequence[str]) -> None:
        """Append rows; they are found when this returns.

        Raises:
            ValueError: not as many texts as contexts.
        """
        if len(texts) != len(contexts):
            raise ValueError(f"{len(texts)} texts with {len(contexts)} contexts")
        stems = [[self.lexicon.content(text) for text in field] for field in (texts, contexts)]
        if len(texts) >= BULK:
            self._merge(stems)
            return
        with self._lock:
            for field, documents in zip(self._fields, stems, strict=True):
                field.fresh.add(enumerate(documents, self._rows))
            self._rows += len(texts)

    def remove(self, rows: Iterable[int]) -> None:
        """These rows score 0 from now on; their words are gone after `purge`."""
        with self._lock:
            rows = self._checked(rows)
            for field in self._fields:
                field.remove(rows)

    def replace(self, row: int, text: str, context: str) -> None:
        """Give a row, removed or not, another text and context."""
        stems = (self.lexicon.content(text), self.lexicon.content(context))
        with self._lock:
            rows = self._checked([row])
            for field, document in zip(self._fields, stems, strict=True):
                field.remove(rows)
                field.fresh.add([(row, document)])

    def score(self, query: str) -> Evidences:
        """Evidence for every row; zeros where the query has only stop words."""
        stems = list(dict.fromkeys(self.lexicon.content(query)))
        with self._lock:
            return Evidences(*(field.score(stems, self._rows) for field in self._fields))

    def merge(self) -> None:
        """Fold what is new into the matrix and drop what was removed, words included.

        About 0.1 s for 100,000 rows; meant for when nobody speaks.
        """
        self._merge([[], []])

    def purge(self) -> None:
        """`merge`, until no word is left that only a removed row had; the lexicon's cache too."""
        while True:
            self.merge()
            self.lexicon.clear()
            with self._lock:
                if not any(field.dead for field in self._fields):
                    return

    def _merge(self, more: Sequence[Sequence[Sequence[str]]]) -> None:
        """Also appends rows: for each field the words of each."""
        with self._merging:
            with self._lock:
                plans = [
                    field.plan(enumerate(documents, self._rows))
                    for field, documents in zip(self._fields, more, strict=True)
                ]
                self._rows += len(more[0])
            segments = [plan.carried_out() for plan in plans]
            with self._lock:
                for field, plan, segment in zip(self._fields, plans, segments, strict=True):
                    field.adopt(plan, segment)

    def _checked(self, rows: Iterable[int]) -> list[int]:
        rows = list(rows)
        for row in rows:
            if not 0 <= row < self._rows:
                raise IndexError(f"there is no row {row} among {self._rows}")
        return rows


class _Fresh:
    """The newest rows, word by word, in plain dictionaries."""

    def __init__(self) -> None:
        self.documents: dict[int, Sequence[str]] = {}
        self.postings: dict[str, dict[int, int]] = {}
        """Word → row → how often it stands there."""
        self.length = 0
        """Words in all."""

    def add(self, documents: Iterable[tuple[int, Sequence[str]]]) -> None:
        for row, words in documents:
            if not words:
                continue
            self.documents[row] = words
            self.length += len(words)
            for word, count in Counter(words).items():
                self.postings.setdefault(word, {})[row] = count

    def remove(self, row: int) -> None:
        words = self.documents.pop(row, ())
        self.length -= len(words)
        for word in set(words):
            rows = self.postings[word]
            del rows[row]
            if not rows:
                del self.postings[word]


@dataclass(frozen=True, slots=True)
class _Plan:
    """A merge as it was decided on, to be carried out while others go on searching."""

    segment: Segment
    dead: frozenset[int]
    documents: dict[int, Sequence[str]]

    def carried_out(self) -> Segment:
        if not self.dead and not self.documents:
            return self.segment
        new = Segment.build(self.segment.k1, self.segment.b, self.documents)
        if not len(self.segment.documents):
            return new
        return self.segment.merged(self.dead, new)


class _Field:
    """One field of every row. Rows without words in it are left out of its statistics."""

    def __init__(self, k1: float, b: float) -> None:
        self.k1, self.b = k1, b
        self.fresh = _Fresh()
        self._changed: set[int] = set()
        """Rows removed or replaced since the last plan."""
        self._settle(Segment.build(k1, b, {}), ())

    def _settle(self, segment: Segment, dead: Iterable[int]) -> None:
        self.segment = segment
        self._frequencies = np.diff(segment.starts)
        """Rows that have each column's word, without the dead."""
        self._length = int(segment.lengths.sum())
        self.dead: set[int] = set()
        """Rows of the segment that no longer count."""
        self._bury(dead)

    def remove(self, rows: Iterable[int]) -> None:
        rows = list(rows)
        self._changed.update(rows)
        for row in rows:
            self.fresh.remove(row)
        self._bury(rows)

    def _bury(self, rows: Iterable[int]) -> None:
        """Take rows of the segment, if they are in it, out of scores and statistics."""
        segment = self.segment
        wanted = np.array([row for row in set(rows) if row not in self.dead], np.int64)
        at = np.flatnonzero(np.isin(segment.documents, wanted))
        if not len(at):
            return
        found = segment.documents[at]
        if len(found) == 1:
            postings = np.flatnonzero(segment.rows == found[0])
        else:
            gone = np.zeros(beyond(segment.documents), np.bool_)
            gone[found] = True
            postings = np.flatnonzero(gone[segment.rows])
        columns = np.searchsorted(segment.starts, postings, side="right") - 1
        np.subtract.at(self._frequencies, columns, 1)
        self._length -= int(segment.lengths[at].sum())
        self.dead.update(found.tolist())

    def score(self, stems: Sequence[str], size: int) -> Evidence:
        scores = np.zeros(size, np.float32)
        segment, loops = self.segment, COMPILED.loops
        weights = self._weights(stems)
        for stem, weight in weights.items():
            column = segment.columns.get(stem)
            if column is not None:
                span = slice(int(segment.starts[column]), int(segment.starts[column + 1]))
                rows, parts = segment.rows[span], segment.parts[span]
                if loops is not None:
                    loops.add(scores, rows, parts, weight)
                else:  # quicker than np.add.at, and right: no row is twice in a column
                    scores[rows] += parts * weight
        if self.dead:
            scores[list(self.dead)] = 0
        for row, score in self._fresh_scores(weights).items():
            scores[row] = score
        return scores

    def _documents(self) -> int:
        return len(self.segment.documents) - len(self.dead) + len(self.fresh.documents)

    def _weights(self, stems: Iterable[str]) -> dict[str, np.float32]:
        """Each stem's share of the sum of their idf, which is Lucene's."""
        total = self._documents()
        idf = {}
        for stem in stems:
            column = self.segment.columns.get(stem)
            frequency = len(self.fresh.postings.get(stem, ()))
            if column is not None:
                frequency += int(self._frequencies[column])
            idf[stem] = math.log1p((total - frequency + 0.5) / (frequency + 0.5))
        whole = sum(idf.values())
        return {stem: np.float32(value / whole) for stem, value in idf.items()}

    def _fresh_scores(self, weights: Mapping[str, np.float32]) -> dict[int, float]:
        fresh = self.fresh
        if not fresh.documents:
            return {}
        average = (self._length + fresh.length) / self._documents()
        scores: dict[int, float] = {}
        for stem, weight in weights.items():
            for row, count in fresh.postings.get(stem, {}).items():
                norm = self.k1 * (1 - self.b + self.b * len(fresh.documents[row]) / average)
                scores[row] = scores.get(row, 0.0) + float(weight) * count / (count + norm)
        return scores

    def plan(self, more: Iterable[tuple[int, Sequence[str]]]) -> _Plan:
        """What there is to merge now, and `more` rows that are not searched yet."""
        self._changed.clear()
        given = {row: words for row, words in more if words}
        return _Plan(self.segment, frozenset(self.dead), {**self.fresh.documents, **given})

    def adopt(self, plan: _Plan, segment: Segment) -> None:
        """Take over what came of a plan; what changed meanwhile stays as it is now."""
        for row in plan.documents:
            if row not in self._changed:
                self.fresh.remove(row)
        self._settle(segment, self._changed)
