"""Full-text search over one user's memories, in RAM.

A row's score is called *evidence*. It is the row's BM25 score divided by the sum of the idfs of the
query's words. (BM25 is Lucene's variant, whose term-frequency part is below 1.) So evidence is in
[0, 1) for queries of any length. It is near 1 if a short text contains every word of the query, and
small if the text contains only common words. A word that is in no memory has the highest idf in the
sum. So a query that consists mostly of such words gets low scores. This is intended, because such a
query is a paraphrase.

Rows can't be appended to a matrix. So only older rows are in the matrix; the newest ones are in
dictionaries, where the next query finds them. Both are scored with the document frequencies of all
rows. `merge` builds a new matrix that includes the newest rows.
"""

import math
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assistant.language.stemming import TextAnalyzer
from assistant.memory.retrieval.bm25_matrix import K1, B, Segment, beyond
from assistant.memory.retrieval.vectors.kernels import COMPILED

Evidence = NDArray[np.float32]
"""Evidence for each row, in [0, 1); shape (rows,)."""

BULK = 1_000
"""If one `add` has at least this many rows, they go straight into the matrix."""


class Evidences(NamedTuple):
    """Evidence for each row from its text and from its context. The caller decides how to weight
    the two."""

    own: Evidence
    context: Evidence


class LexicalIndex:
    """A full-text index of the rows 0..n-1, each with two fields: a text and its context.
    Thread-safe.

    Queries may wait for a small change, but never for `merge` or a large `add`.
    """

    def __init__(self, lexicon: TextAnalyzer) -> None:
        self.lexicon = lexicon
        self._fields = (_Field(), _Field())
        self._rows = 0
        self._lock = threading.Lock()
        self._merging = threading.Lock()

    def __len__(self) -> int:
        """Return the number of rows, including removed ones."""
        return self._rows

    @property
    def unmerged(self) -> int:
        """Number of new, changed and removed rows that the next `merge` would process."""
        with self._lock:
            return max(len(field.fresh.documents) + len(field.dead) for field in self._fields)

    def add(self, texts: Sequence[str], contexts: Sequence[str]) -> None:
        """Append rows. Queries find the new rows as soon as this returns."""
        stems = [[self.lexicon.content(text) for text in field] for field in (texts, contexts)]
        if len(texts) >= BULK:
            self._merge(stems)
            return
        with self._lock:
            for field, documents in zip(self._fields, stems, strict=True):
                field.fresh.add(enumerate(documents, self._rows))
            self._rows += len(texts)

    def remove(self, rows: Collection[int]) -> None:
        """Give these rows a score of 0 from now on. Their words remain in RAM until `purge`."""
        with self._lock:
            for field in self._fields:
                field.remove(rows)

    def replace(self, row: int, text: str, context: str) -> None:
        """Replace the text and context of a row. The row may have been removed before."""
        stems = (self.lexicon.content(text), self.lexicon.content(context))
        with self._lock:
            for field, document in zip(self._fields, stems, strict=True):
                field.remove([row])
                field.fresh.add([(row, document)])

    def score(self, query: str) -> Evidences:
        """Return the evidence for every row; zeros if the query contains only stop words."""
        stems = list(dict.fromkeys(self.lexicon.content(query)))
        with self._lock:
            return Evidences(*(field.score(stems, self._rows) for field in self._fields))

    def merge(self) -> None:
        """Merge new rows into the matrix, and delete removed rows with their words.

        Takes about 0.1 s for 100,000 rows; call it while nobody speaks.
        """
        self._merge([[], []])

    def purge(self) -> None:
        """Delete the words of removed rows from the index, and empty the lexicon's cache. Repeats
        this if rows were removed meanwhile."""
        while True:
            self.merge()
            self.lexicon.clear()
            with self._lock:
                if not any(field.dead for field in self._fields):
                    return

    def _merge(self, more: Sequence[Sequence[Sequence[str]]]) -> None:
        """Merge new rows into the matrix, and append the rows in `more`.

        Args:
            more: for each of the two fields, the words of each row to append; empty lists to append
                none.
        """
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


class _Fresh:
    """The newest rows, stored in dictionaries."""

    def __init__(self) -> None:
        self.documents: dict[int, Sequence[str]] = {}
        self.postings: dict[str, dict[int, int]] = {}
        """Word → row → count."""
        self.length = 0
        """Total number of words in these rows."""

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
    """The inputs of a merge. The merge itself can run while searches continue."""

    segment: Segment
    dead: frozenset[int]
    documents: dict[int, Sequence[str]]

    def carried_out(self) -> Segment:
        if not self.dead and not self.documents:
            return self.segment
        new = Segment.build(self.documents)
        if not len(self.segment.documents):
            return new
        return self.segment.merged(self.dead, new)


class _Field:
    """One of the two fields of all rows. Rows in which the field has no words don't count in its
    statistics."""

    def __init__(self) -> None:
        self.fresh = _Fresh()
        self._changed: set[int] = set()
        """Rows removed or replaced since the last call of `plan`."""
        self._settle(Segment.build({}), ())

    def _settle(self, segment: Segment, dead: Iterable[int]) -> None:
        self.segment = segment
        self._frequencies = np.diff(segment.starts)
        """For each column's word, the number of rows that contain it, not counting removed rows."""
        self._length = int(segment.lengths.sum())
        self.dead: set[int] = set()
        """Removed or replaced rows that are still in the segment."""
        self._bury(dead)

    def remove(self, rows: Collection[int]) -> None:
        self._changed.update(rows)
        for row in rows:
            self.fresh.remove(row)
        self._bury(rows)

    def _bury(self, rows: Iterable[int]) -> None:
        """Exclude rows of the segment from scores and statistics."""
        segment = self.segment
        wanted = np.array([row for row in set(rows) if row not in self.dead], np.int64)
        at = np.flatnonzero(np.isin(segment.documents, wanted))
        if not len(at):
            return
        found = segment.documents[at]
        if len(found) == 1:  # the usual case, e.g. after a memory was used
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
                else:  # faster than np.add.at; no row occurs twice in a column
                    scores[rows] += parts * weight
        if self.dead:
            scores[list(self.dead)] = 0
        for row, score in self._fresh_scores(weights).items():
            scores[row] = score
        return scores

    def _documents(self) -> int:
        return len(self.segment.documents) - len(self.dead) + len(self.fresh.documents)

    def _weights(self, stems: Iterable[str]) -> dict[str, np.float32]:
        """Return each stem's share of the sum of the stems' idfs (Lucene's formula)."""
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
                norm = K1 * (1 - B + B * len(fresh.documents[row]) / average)
                scores[row] = scores.get(row, 0.0) + float(weight) * count / (count + norm)
        return scores

    def plan(self, more: Iterable[tuple[int, Sequence[str]]]) -> _Plan:
        """Collect the inputs of a merge: the new rows, and the rows in `more`, which queries don't
        find yet."""
        self._changed.clear()
        given = {row: words for row, words in more if words}
        return _Plan(self.segment, frozenset(self.dead), {**self.fresh.documents, **given})

    def adopt(self, plan: _Plan, segment: Segment) -> None:
        """Use the segment that a merge produced. Rows changed during the merge keep their newer
        content."""
        for row in plan.documents:
            if row not in self._changed:
                self.fresh.remove(row)
        self._settle(segment, self._changed)
