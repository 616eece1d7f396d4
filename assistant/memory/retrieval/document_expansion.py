"""Other words by which memories are found: what was made of them between utterances, beside the
index of what was said.

Of each memory there may be a description and questions that it answers. Their words are an index of
their own, with its own frequencies, so that what a model is fond of saying takes nothing from the
words that were said; their vectors have a share in how near the memory is to what is asked. To take
the greatest of all cosines would bring up what is asked about in general terms. Nothing of it is
ever shown.
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
    """What of it counts, and how much; 0 is not at all."""

    describe_words: float = 0.0
    """What a word of a description counts of one that was said."""
    describe_meaning: float = 0.0
    """The share of a description's cosine in that of its memory."""
    expand_words: float = 0.0
    expand_meaning: float = 0.0
    """The same of questions; of the cosines that of the nearest one."""

    @classmethod
    def of(cls, settings: Idle) -> "ExpansionWeights":
        """By meaning alone: what words bring is less certain, and costs places at the top."""
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
    """What was made of one memory.

    `of` is the `fingerprint` of its text. `vectors` are of the description, if there is one, and of
    each question, in this order; none where they are not known. `sources` are the exchanges that it
    rests on.
    """

    of: str
    about: str
    questions: tuple[str, ...]
    vectors: Vectors
    sources: tuple[str, ...]

    def fits(self, text: str) -> bool:
        return self.of == fingerprint(text)


def fingerprint(text: str) -> str:
    """What is made of a text is of no use when the text is another one."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the extras of a memory are: the row of their words, and those of their vectors."""

    words: int
    vectors: tuple[int, ...]
    sources: tuple[str, ...]


def _above_average(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """0 for NaN, as for the average: what is asked is nearer to questions than to what was said,
    and a memory for which there are none is no worse for that."""
    known = values[~np.isnan(values)]
    mean = known.mean() if len(known) else np.float32(0)
    return np.where(np.isnan(values), np.float32(0), values - mean)


class DocumentExpansion:
    """Of the rows of a user's index, and to be called under its lock. Vectors are the quick
    encoder's."""

    def __init__(
        self, lexicon: TextAnalyzer, dimensions: int, enrichment: ExpansionWeights
    ) -> None:
        self._weights = enrichment
        self._words = LexicalIndex(lexicon)
        self._vectors = VectorIndex(dimensions)
        self._word_rows: list[int] = []
        """Which memory each row of words is of."""
        self._vector_rows: list[int] = []
        self._kinds: list[int] = []
        """What each vector is of, a description or a question, as in `_by_kind`."""
        self._by_kind = (enrichment.describe_meaning, enrichment.expand_meaning)
        self._places: dict[int, _Place] = {}
        """By memory."""
        self._resting: dict[str, set[int]] = {}
        """By exchange: the memories whose extras rest on it."""
        self._hidden_exchanges: frozenset[str] = frozenset()
        """Exchanges."""
        self._hidden: set[int] = set()
        """Memories whose extras rest on these."""

    def __len__(self) -> int:
        """Memories that have some."""
        return len(self._places)

    def put(self, extras: Mapping[int, Expansion]) -> None:
        """In place of what these rows had."""
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
        """These memories are found by their own words alone."""
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
        """Nothing that rests on these counts from now on, and all else again."""
        self._hidden_exchanges = frozenset(exchanges)
        self._find_hidden()

    def delete_hidden(self) -> None:
        """It counts no more, whatever is hidden later."""
        self.remove(list(self._hidden))

    def purge(self) -> None:
        """Leave no trace of words that were removed. Needs no lock."""
        self._words.purge()

    def tidy(self) -> None:
        """Fold what is new into the large index; for when nobody speaks. Needs no lock."""
        self._words.merge()

    # -- in a search ----------------------------------------------------------------------------

    def words(self, query: str, own: NDArray[np.float32]) -> NDArray[np.float32]:
        """Evidence by what was said, of all rows, with that by these words added."""
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
        """The rows that are near in meaning by what was made of them."""
        if vector is None or not self._places or not self._weights.by_meaning:
            return np.empty(0, np.int64)
        found, _ = self._vectors.search(vector, count)
        rows = np.array(self._vector_rows, np.int64)[found]
        return np.unique(rows[self._shown(rows)])

    def cosines(
        self, vector: Vector | None, rows: Rows, own: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Of these rows, with a share of that of the nearest description and question; NaN where a
        row has no vector at all."""
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
