"""The main part of a full-text index: a sparse matrix of BM25 weights, which can be merged."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

K1 = 1.5
"""How much a repeated word counts."""
B = 0.75
"""How much long texts are penalised."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Documents as a sparse matrix with one column per word (CSC), as in bm25s.

    An entry is a posting: a word in a row, with the contribution of its frequency f,
    f / (f + K1 (1 - B + B length / average)). The query adds the idf.
    """

    columns: Mapping[str, int]
    starts: NDArray[np.int64]
    """Where each column's postings begin, and where the last one's end; shape (columns + 1,)."""
    rows: NDArray[np.int32]
    parts: NDArray[np.float32]
    documents: NDArray[np.int32]
    """The rows that the segment contains."""
    lengths: NDArray[np.int32]
    """The number of words in each of these rows, without stop words."""

    @classmethod
    def build(cls, documents: Mapping[int, Sequence[str]]) -> "Segment":
        """Build a segment from the words of each row. bm25s would build the same, but array
        arithmetic takes a fifth of the time, which matters at a start with many memories."""
        if not any(documents.values()):
            documents = {}  # texts without a single word have no average length
        columns: dict[str, int] = {}
        rows = np.fromiter(documents, np.int32, len(documents))
        lengths = np.fromiter(map(len, documents.values()), np.int32, len(documents))
        words = (
            columns.setdefault(word, len(columns))
            for word in chain.from_iterable(documents.values())
        )
        of_words = np.fromiter(words, np.int64, int(lengths.sum()))
        places = np.repeat(np.arange(len(rows)), lengths)
        pairs, counts = np.unique(of_words * len(rows) + places, return_counts=True)
        found = rows[pairs % max(len(rows), 1)]
        frequencies = np.bincount(pairs // max(len(rows), 1), minlength=len(columns))
        norms = _norms(rows, lengths)
        return cls(
            columns,
            np.concatenate([[0], np.cumsum(frequencies)]),
            found,
            (counts / (counts + norms[found])).astype(np.float32),
            rows,
            lengths,
        )

    def of_words(self) -> NDArray[np.int64]:
        """The column of each posting."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def counts(self) -> NDArray[np.float64]:
        """The term frequency of each posting, computed from its part; exact, as it is an
        integer."""
        norms = _norms(self.documents, self.lengths)[self.rows]
        parts = self.parts.astype(np.float64)
        counts: NDArray[np.float64] = np.rint(parts * norms / (1 - parts))
        return counts

    def merged(self, dead: Iterable[int], other: "Segment") -> "Segment":
        """This segment without its `dead` rows, merged with `other`: the same as if it were built
        from all of their words.

        Array arithmetic is ten times as fast as counting all words again, and most of it leaves
        the interpreter to other threads.
        """
        gone = np.zeros(beyond(self.documents), np.bool_)
        gone[list(dead)] = True
        kept, kept_documents = ~gone[self.rows], ~gone[self.documents]
        rows = np.concatenate([self.rows[kept], other.rows])
        counts = np.concatenate([self.counts()[kept], other.counts()])
        documents = np.concatenate([self.documents[kept_documents], other.documents])
        lengths = np.concatenate([self.lengths[kept_documents], other.lengths])
        numbers = dict(self.columns)
        moved = [numbers.setdefault(word, len(numbers)) for word in other.columns]
        columns = np.concatenate(
            [self.of_words()[kept], np.array(moved, np.int64)[other.of_words()]]
        )
        # Dropping empty columns removes the last trace of their words.
        frequencies = np.bincount(columns, minlength=len(numbers))
        used = frequencies > 0
        renumbered = np.cumsum(used) - 1
        order = np.argsort(columns, kind="stable")
        rows, counts = rows[order], counts[order]
        norms = _norms(documents, lengths)
        return Segment(
            {word: int(renumbered[old]) for word, old in numbers.items() if used[old]},
            np.concatenate([[0], np.cumsum(frequencies[used])]),
            rows,
            (counts / (counts + norms[rows])).astype(np.float32),
            documents,
            lengths,
        )


def beyond(documents: NDArray[np.int32]) -> int:
    """The length of an array with an entry for each of these rows."""
    return int(documents.max(initial=-1)) + 1


def _norms(documents: NDArray[np.int32], lengths: NDArray[np.int32]) -> NDArray[np.float64]:
    """K1 (1 - B + B length / average) by row; 0 for rows not in `documents`."""
    norms = np.zeros(beyond(documents))
    if len(documents):
        norms[documents] = K1 * (1 - B + B * lengths / lengths.mean())
    return norms
