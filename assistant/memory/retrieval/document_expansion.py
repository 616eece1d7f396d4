"""Extra words by which memories are found: descriptions and questions made in idle time, beside the
index of what was said.

A memory may have a description, and questions that it answers. Their words have a separate index
with its own frequencies, so that a model's favourite words don't devalue the user's; their vectors
are weighted into the memory's cosine. (Taking the highest of all cosines would favour memories that
match general questions.) None of it is ever shown.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from assistant.language.stemming import TextAnalyzer
from assistant.memory.records.arrays import Rows, Vector, Vectors
from assistant.memory.retrieval.lexical_index import LexicalIndex
from assistant.memory.retrieval.vectors.vector_index import VectorIndex
from assistant.settings import Idle

DESCRIBE_MEANING, EXPAND_MEANING = 0.2, 0.2


@dataclass(frozen=True, slots=True)
class ExpansionWeights:
    """How much each part counts; 0 means not at all."""

    describe_words: float = 0.0
    """Weight of a word in a description; a word that was said counts 1."""
    describe_meaning: float = 0.0
    """Share of a description's cosine in that of its memory."""
    expand_words: float = 0.0
    expand_meaning: float = 0.0
    """The same for questions; of their cosines, the nearest one's."""

    @classmethod
    def of(cls, settings: Idle) -> "ExpansionWeights":
        """Use meaning only: gains from words are less certain, and cost places at the top."""
        describe, expand = settings.describe == "on", settings.expand == "on"
        return cls(
            describe_meaning=DESCRIBE_MEANING if describe else 0.0,
            expand_meaning=EXPAND_MEANING if expand else 0.0,
        )

    @property
    def by_words(self) -> bool:
        return self.describe_words > 0 or self.expand_words > 0

    @property
    def by_meaning(self) -> bool:
        return self.describe_meaning > 0 or self.expand_meaning > 0


@dataclass(frozen=True, slots=True)
class Expansion:
    """What was derived from one memory.

    `of` is the `fingerprint` of its text. `vectors` are those of the description, if there is one,
    and of each question, in this order; empty if unknown. `sources` are the exchanges it is based
    on.
    """

    of: str
    about: str
    questions: tuple[str, ...]
    vectors: Vectors
    sources: tuple[str, ...]

    def fits(self, text: str) -> bool:
        return self.of == fingerprint(text)


def fingerprint(text: str) -> str:
    """A hash of a text. What was derived from a text is useless once the text has changed."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a memory's expansion is: the row of its words, and the rows of its vectors."""

    words: int
    vectors: tuple[int, ...]
    sources: tuple[str, ...]


def _above_average(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Values minus their average; 0 for NaN. A question is nearer to questions than to what was
    said, and a memory without questions must not be worse for that."""
    known = values[~np.isnan(values)]
    mean = known.mean() if len(known) else np.float32(0)
    return np.where(np.isnan(values), np.float32(0), values - mean)


class DocumentExpansion:
    """Expansions of the rows of a user's index; call it under that index's lock. Vectors are the
    fast encoder's."""

    def __init__(
        self, lexicon: TextAnalyzer, dimensions: int, enrichment: ExpansionWeights
    ) -> None:
        self._weights = enrichment
        self._words = LexicalIndex(lexicon)
        self._vectors = VectorIndex(dimensions)
        self._word_rows: list[int] = []
        """The memory of each row of words."""
        self._vector_rows: list[int] = []
        self._kinds: list[int] = []
        """The kind of each vector, description or question, as an index into `_by_kind`."""
        self._by_kind = (enrichment.describe_meaning, enrichment.expand_meaning)
        self._places: dict[int, _Place] = {}
        """By memory."""
        self._resting: dict[str, set[int]] = {}
        """By exchange: the memories whose expansion is based on it."""
        self._hidden_exchanges: frozenset[str] = frozenset()
        """Exchanges that are hidden."""
        self._hidden: set[int] = set()
        """Memories whose expansion is based on hidden exchanges."""

    def __len__(self) -> int:
        """Number of memories with an expansion."""
        return len(self._places)

    def put(self, extras: Mapping[int, Expansion]) -> None:
        """Replace the expansions of these rows."""
        self.remove(extras)
        weights = self._weights
        first = len(self._word_rows)
        for place, (row, extra) in enumerate(extras.items(), first):
            kinds = [0] * bool(extra.about) + [1] * len(extra.questions)
            known = enumerate(kinds[: len(extra.vectors)])
            used = [at for at, kind in known if self._by_kind[kind]]
            start = len(self._vector_rows)
            if used:
                self._vectors.add(extra.vectors[used])
            self._vector_rows += [row] * len(used)
            self._kinds += [kinds[at] for at in used]
            vectors = tuple(range(start, start + len(used)))
            self._places[row] = _Place(place, vectors, extra.sources)
            for source in extra.sources:
                self._resting.setdefault(source, set()).add(row)
        self._word_rows += extras
        every = extras.values()
        self._words.add(
            [each.about if weights.describe_words else "" for each in every],
            [" ".join(each.questions) if weights.expand_words else "" for each in every],
        )
        self._find_hidden()

    def remove(self, rows: Iterable[int]) -> None:
        """Remove the expansions of these rows."""
        found = {row: self._places.pop(row) for row in rows if row in self._places}
        self._words.remove([place.words for place in found.values()])
        self._vectors.remove([each for place in found.values() for each in place.vectors])
        for row, place in found.items():
            for source in place.sources:
                resting = self._resting[source]
                resting.discard(row)
                if not resting:
                    del self._resting[source]
        self._hidden.difference_update(found)

    def hide(self, exchanges: Collection[str]) -> None:
        """Ignore what is based on these exchanges, and nothing else."""
        self._hidden_exchanges = frozenset(exchanges)
        self._find_hidden()

    def delete_hidden(self) -> None:
        """Delete what is hidden now."""
        self.remove(list(self._hidden))

    def purge(self) -> None:
        """Leave no trace of removed words. Needs no lock."""
        self._words.purge()

    def tidy(self) -> None:
        """Merge new rows into the large index; for times of silence. Needs no lock."""
        self._words.merge()

    # -- in a search ----------------------------------------------------------------------------

    def words(self, query: str, own: NDArray[np.float32]) -> NDArray[np.float32]:
        """Evidence of all rows by what was said, plus that of these words."""
        if not self._places or not self._weights.by_words:
            return own
        found = self._words.score(query)
        evidence = (
            self._weights.describe_words * found.own + self._weights.expand_words * found.context
        )
        hits = np.flatnonzero(evidence)
        rows = np.array(self._word_rows, np.int64)[hits]
        shown = self._shown(rows) & (rows < len(own))
        total = own.copy()
        total[rows[shown]] += evidence[hits[shown]]
        return total

    def near(self, vector: Vector | None, count: int) -> Rows:
        """Rows whose expansions are near in meaning."""
        if vector is None or not self._places or not self._weights.by_meaning:
            return np.empty(0, np.int64)
        found, _ = self._vectors.search(vector, count)
        rows = np.array(self._vector_rows, np.int64)[found]
        return np.unique(rows[self._shown(rows)])

    def cosines(
        self, vector: Vector | None, rows: Rows, own: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """The rows' cosines, with a share from the nearest description and question; NaN if a row
        has no vector at all."""
        if vector is None or not self._places or not self._weights.by_meaning:
            return own
        pairs = [
            (at, each)
            for at, row in enumerate(rows.tolist())
            if row in self._places and row not in self._hidden
            for each in self._places[row].vectors
        ]
        if not pairs:
            return own
        at, vectors = np.array(pairs, np.int64).T
        found, kinds = self._vectors.cosines(vector, vectors), np.array(self._kinds)[vectors]
        cosines, best = own.copy(), np.full(len(rows), np.nan, np.float32)
        for kind, weight in enumerate(self._by_kind):
            nearest = np.full(len(rows), np.nan, np.float32)
            np.fmax.at(nearest, at[kinds == kind], found[kinds == kind])
            cosines += weight * _above_average(nearest - own)
            best = np.fmax(best, nearest)
        return np.where(np.isnan(own), best, cosines)

    # -- inside ---------------------------------------------------------------------------------

    def _find_hidden(self) -> None:
        self._hidden = {
            row for each in self._hidden_exchanges for row in self._resting.get(each, ())
        }

    def _shown(self, rows: Rows) -> NDArray[np.bool_]:
        if not self._hidden:
            return np.ones(len(rows), np.bool_)
        return ~np.isin(rows, list(self._hidden))
