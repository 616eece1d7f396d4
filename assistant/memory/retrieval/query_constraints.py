"""Constraints in a question besides its words and its meaning: a time, or a person named by their
relation to the user."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from assistant.memory.records.arrays import Rows, Values
from assistant.memory.retrieval.lexical_index import LexicalIndex
from assistant.memory.retrieval.question import Question
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.retrieval.row_metadata import RowMetadata
from assistant.memory.retrieval.time_index import TimeAsked, time_asked

MOST = 2_000
"""Newest memories matching a constraint that are compared with the question."""
CANDIDATES = 200
"""Number of them that are ranked: those nearest in meaning, no matter what their words."""


@dataclass(frozen=True, slots=True)
class QueryConstraints:
    """The constraints of one question.

    `linked`: which rows name a person whom the question mentions by relation; None if it doesn't.
    """

    columns: RowMetadata
    when: TimeAsked | None
    linked: NDArray[np.bool_] | None

    @classmethod
    def of(
        cls,
        question: Question,
        columns: RowMetadata,
        lexical: LexicalIndex,
        weights: Ranking,
        now: datetime,
    ) -> "QueryConstraints":
        """Constraints without a weight are not looked for."""
        when = time_asked(question.text, now) if weights.times or weights.dated else None
        if when is not None and not weights.times:
            when = TimeAsked((), alone=False, when=when.when)
        linked = None
        if weights.linked:
            names = columns.roles.names(question.words, _allowed(columns, now))
            if names:
                linked = lexical.score(" ".join(names)).own > 0
        return cls(columns, when, linked)

    def candidates(self, size: int, cosines: Callable[[Rows], NDArray[np.floating]]) -> Rows:
        """Rows among the first `size` that satisfy a constraint.

        Args:
            cosines: of rows with the question; NaN without a vector.
        """
        rows: Rows = np.empty(0, np.int64)
        if self.when is not None:
            rows = self.columns.times.within(self.when, size)[-MOST:]
        if self.linked is not None:
            rows = np.union1d(rows, np.flatnonzero(self.linked[:size])[-MOST:])
        if len(rows) <= CANDIDATES:
            return rows
        nearest = np.argpartition(-np.nan_to_num(cosines(rows)), CANDIDATES)[:CANDIDATES]
        return rows[nearest]

    def left(self, rows: Rows) -> Rows:
        """All rows, unless only a time is asked for."""
        if self.when is None or not self.when.alone:
            return rows
        return self.columns.times.belonging(rows, self.when)

    def evidence(self, rows: Rows) -> tuple[Values | None, Values | None, Values | None]:
        """See `ranking.Evidence`: times, dated, linked."""
        linked = None if self.linked is None else self.linked[rows].astype(np.float64)
        return (*self.columns.times.evidence(rows, self.when), linked)


def _allowed(columns: RowMetadata, now: datetime) -> Callable[[Iterable[int]], bool]:
    """Hidden memories must not reveal who is who, either."""
    return lambda rows: bool(columns.eligible(np.fromiter(rows, np.int64), (), now).any())
