"""All memories of one user in RAM, in the form that recall searches.

A memory has the same row number in the lexical index, the vectors and the metadata. A forgotten row
stays as an empty gap, so that the other rows keep their numbers.
"""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

import numpy as np

from assistant.errors import StoreError
from assistant.events import MemoryUsed
from assistant.language.stemming import TextAnalyzer
from assistant.memory.records.arrays import Rows, Vector, Vectors
from assistant.memory.records.lifetimes import Lifetimes
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.deadline import SearchDeadline
from assistant.memory.retrieval.document_expansion import (
    DocumentExpansion,
    Expansion,
    ExpansionWeights,
)
from assistant.memory.retrieval.encoding import LONGEST_DOCUMENT
from assistant.memory.retrieval.lexical_index import LexicalIndex
from assistant.memory.retrieval.question import Question
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.retrieval.results import RecalledMemory
from assistant.memory.retrieval.row_metadata import RowMetadata
from assistant.memory.retrieval.search import Parts, newest_stated, searched
from assistant.memory.retrieval.vectors.dense_index import DenseIndex, QueryVectors
from assistant.memory.retrieval.vectors.tiers import Tier, Tiers, assigned
from assistant.memory.store.lance_schema import Batch

OUTLINED_AT_ONCE = 250
"""Number of memories read while the lock is held; takes two milliseconds."""
ADDED_AT_ONCE = 32
"""Number of memories added while the lock is held; takes two milliseconds."""
LONG = 2_000
"""If the lexical index has more unmerged memories than this, they are merged, because they are
searched one by one, which is slow."""
BREATH_S = 0.0005


class UserIndex:
    """The index of one user's memories. Thread-safe. Searches and changes wait for each other for a
    few milliseconds. A search waits no longer than its deadline.

    Args:
        dimensions: of the fast encoder's vectors. In this class, "vectors" are those of the fast
            encoder unless stated otherwise.
        lifetimes: when memories without an expiry date expire; default: never.
        enrichment: the weights of document expansions; default: 0.
    """

    def __init__(
        self,
        user_id: str,
        lexicon: TextAnalyzer,
        dimensions: int,
        ranking: Ranking,
        lifetimes: Lifetimes | None = None,
        enrichment: ExpansionWeights | None = None,
    ) -> None:
        self.user_id = user_id
        self._lexical = LexicalIndex(lexicon)
        self.dense = DenseIndex(dimensions)
        """Any thread may read its properties. Only this index may call its methods."""
        self._expansions = DocumentExpansion(dimensions, enrichment or ExpansionWeights())
        self._columns = RowMetadata(lifetimes or Lifetimes())
        rows = (self._lexical, self.dense, self._expansions, self._columns)
        self._parts = Parts(lexicon, *rows, ranking)
        self._lock = threading.Lock()
        self.profile: tuple[MemoryUsed, ...] = ()
        """The notes that are in every prompt. The tuple is replaced as a whole, so no lock is
        needed."""

    def __len__(self) -> int:
        return len(self._columns.row_of)

    @property
    def shown(self) -> int:
        with self._lock:
            return len(self) - int(self._columns.hidden.sum())

    def __contains__(self, key: str) -> bool:
        return key in self._columns.row_of

    def sources(self) -> set[str]:
        with self._lock:
            return {source for each in self._columns.sources for source in each}

    def load(self, batches: Iterable[Batch], encoder: str | None) -> None:
        """Load the rows of a table scan, in the order in which they were said.

        Args:
            encoder: the encoder whose vectors to load; None: load no vectors.

        Raises:
            StoreError: the scan failed. The index contains the memories that were read before.
        """
        given: list[tuple[str, str]] = []
        try:
            for batch in batches:
                memories = batch.memories()
                if any(memory.user_id != self.user_id for memory in memories):
                    raise StoreError("The memories include another user's, so none were read.")
                once = self._columns.once(memories)
                memories = [memories[at] for at in once]
                if encoder is None:
                    self.dense.add_without(len(memories))
                else:
                    vectors, present = batch.vectors(encoder)
                    known = np.where(present[:, np.newaxis], vectors, np.float32(np.nan))
                    self.dense.add(known if len(once) == len(known) else known[once])
                self._columns.add(memories)
                given += map(_words_of, memories)
        finally:
            # All batches together: one merge is faster than one merge per batch.
            self._lexical.add([text for text, _ in given], [context for _, context in given])
            self.profile = self._columns.profile()

    def add(self, memories: Sequence[Memory], vectors: Vectors | None = None) -> None:
        """Add memories. When this returns, they can be found by words, and by meaning if they have
        vectors. Many are added in small batches, so that searches and forgetting wait only briefly.

        Args:
            vectors: shape (len(memories), dimensions); NaN for a memory without a vector.

        Raises:
            ValueError: a memory is another user's, or is already in the index.
        """
        for memory in memories:
            if memory.user_id != self.user_id or memory.id in self._columns.row_of:
                raise ValueError(f"memory {memory.id} is another user's, or is already indexed")
        for at in range(0, len(memories), ADDED_AT_ONCE):
            if at:
                time.sleep(BREATH_S)  # otherwise no other thread would get the lock
            piece = slice(at, at + ADDED_AT_ONCE)
            with self._lock:
                self._add(memories[piece], None if vectors is None else vectors[piece])
            if at and self._lexical.unmerged > LONG:
                self._lexical.merge()

    def _add(self, memories: Sequence[Memory], vectors: Vectors | None) -> None:
        given = [*map(_words_of, memories)]
        self._lexical.add([text for text, _ in given], [context for _, context in given])
        if vectors is None:
            self.dense.add_without(len(memories))
        else:
            self.dense.add(vectors)
        self._columns.add(memories)
        self.profile = self._columns.profile()

    def set_vectors(self, ids: Sequence[str], vectors: Vectors, *, stronger: bool = False) -> None:
        """Set the vectors of memories. Memories that are no longer in the index are skipped."""
        with self._lock:
            known = [at for at, key in enumerate(ids) if key in self._columns.row_of]
            rows = [self._columns.row_of[ids[at]] for at in known]
            self.dense.replace(rows, vectors[known], stronger=stronger)

    def attach_stronger(self, dimensions: int) -> None:
        """Add a stronger encoder. Its vectors are set later, a few at a time, by `set_vectors`."""
        with self._lock:
            self.dense.attach(dimensions)

    def saying(self, ids: Sequence[str], texts: Sequence[str]) -> list[int]:
        """Return the positions of the ids whose memories are in the index and still have the given
        texts."""
        with self._lock:
            rows, said = self._columns.row_of, self._columns.texts
            known = [at for at, key in enumerate(ids) if key in rows]
            return [at for at in known if said[rows[ids[at]]] == texts[at]]

    def update(self, memory: Memory) -> None:
        """Replace a memory's fields. If the text has changed, the memory needs a new vector.

        Raises:
            KeyError: the memory isn't in the index.
        """
        with self._lock:
            row = self._columns.row_of[memory.id]
            if memory.text != self._columns.texts[row]:
                self.dense.remove([row])
                self._expansions.remove([row])
            self._lexical.replace(row, *_words_of(memory))
            self._columns.write(row, memory)
            self.profile = self._columns.profile()

    def enrich(self, expansions: Mapping[str, Expansion]) -> None:
        """Replace the expansions of memories. Memories that are no longer in the index or have a
        different text by now are skipped."""
        with self._lock:
            row_of, texts = self._columns.row_of, self._columns.texts
            here = {row_of[key]: each for key, each in expansions.items() if key in row_of}
            self._expansions.put({n: each for n, each in here.items() if each.fits(texts[n])})

    def remove(self, ids: Iterable[str]) -> None:
        """Remove memories, so that recall no longer finds them. Their words stay in RAM until
        `purge`."""
        with self._lock:
            rows = [self._columns.row_of[key] for key in ids if key in self._columns.row_of]
            if rows:
                self._lexical.remove(rows)
                self.dense.remove(rows)
                self._expansions.remove(rows)
                self._columns.remove(rows)
                self.profile = self._columns.profile()

    def hide(self, exchanges: Collection[str], ids: Collection[str]) -> None:
        """Hide these memories and all memories based on these exchanges, including those added
        later. All other memories are shown. Takes about 0.1 ms for a hundred memories."""
        with self._lock:
            self._columns.hide(exchanges, ids)
            self._expansions.hide(exchanges)
            self.profile = self._columns.profile()

    def outlines(
        self, exchanges: Collection[str] | None = None, ids: Collection[str] = ()
    ) -> dict[str, Memory]:
        """Return the memories based on these exchanges and the memories with these ids, each under
        its id; all memories if `exchanges` is None. Memories that supersede any of them, or are
        superseded by them, are included; hidden memories are left out. Only the fields that are in
        RAM are set. Blocks, but releases the lock between batches."""
        with self._lock:
            columns = self._columns
            if exchanges is None:
                rows: list[int] = columns.living().tolist()
            else:
                rows = sorted(columns.with_versions(columns.based_on(exchanges, ids)))
        found: dict[str, Memory] = {}
        for at in range(0, len(rows), OUTLINED_AT_ONCE):
            if at:
                time.sleep(BREATH_S)  # otherwise no other thread would get the lock
            with self._lock:
                found |= columns.outlines(self.user_id, rows[at : at + OUTLINED_AT_ONCE])
        return found

    @property
    def unmerged(self) -> int:
        return self._lexical.unmerged

    def tidy(self) -> None:
        """Merge new rows of the lexical index into its matrix. Call it while nobody speaks."""
        self._lexical.merge()

    def purge(self) -> None:
        """Delete from RAM the words of removed memories and the expansions of hidden exchanges."""
        with self._lock:
            self._expansions.delete_hidden()
            self._columns.forget_speakers()
        self._lexical.purge()

    def age(
        self, tiers: Tiers, now: datetime, *reads: Callable[[Sequence[str]], Mapping[str, Vector]]
    ) -> None:
        """Reassign the memories to tiers. Searches continue meanwhile.

        Args:
            reads: one function per encoder, the fast encoder's first. Each returns the exact
                vectors that exist, by id. If one raises, the tiers of that encoder stay
                unchanged.
        """
        with self._lock:
            living = self._columns.living()
            rows = living[self._columns.eligible(living, (), now)]
            marks = self._columns.marks(rows)
        chosen = assigned(marks, tiers, now.timestamp())
        for vectors, read in zip(self.dense.encoders, reads, strict=False):
            vectors.set_hot(rows[chosen[Tier.HOT]], partial(self._exact, vectors.dimensions, read))
            vectors.set_warm(rows[chosen[Tier.WARM]])

    def _exact(
        self, dimensions: int, read: Callable[[Sequence[str]], Mapping[str, Vector]], rows: Rows
    ) -> Vectors:
        with self._lock:
            ids = [self._columns.ids[row] for row in rows]
        found = read([key for key in ids if key])
        none = np.full(dimensions, np.nan, np.float32)
        return np.stack([found.get(key, none) for key in ids])

    def tier(self, key: str) -> Tier | None:
        """Return the tier of a memory; None if the memory isn't in the index."""
        with self._lock:
            row = self._columns.row_of.get(key)
            return self.dense.quick.tiers([row])[0] if row is not None else None

    def tier_counts(self) -> dict[Tier, int]:
        """Return the number of memories in each tier, not counting hidden ones. Memories without a
        vector count as cold."""
        with self._lock:
            quick = self.dense.quick
            hot, warm = len(quick.hot), len(quick.warm)
            hidden = Counter(quick.tiers(np.flatnonzero(self._columns.hidden)))
            all_of_them = {Tier.HOT: hot, Tier.WARM: warm, Tier.COLD: len(self) - hot - warm}
            return {tier: count - hidden[tier] for tier, count in all_of_them.items()}

    def without_vectors(self, limit: int, *, stronger: bool = False) -> tuple[list[str], list[str]]:
        """Return the ids and texts of memories without a vector, newest first."""
        columns = self._columns
        with self._lock:
            if stronger:
                rows = self.dense.lacking(limit)
            else:
                living = columns.living()
                rows = living[~self.dense.quick.has(living)][::-1][:limit].tolist()
            return [columns.ids[row] for row in rows], [columns.texts[row] for row in rows]

    def nearest(self, vector: Vector, k: int) -> list[str]:
        """Return the ids of the k memories nearest to the vector. Nothing else affects the
        order."""
        with self._lock:
            rows, _ = self.dense.quick.search(vector, k)
            return [self._columns.ids[row] for row in rows]

    def has_vector(self, key: str) -> bool:
        with self._lock:
            row = self._columns.row_of.get(key)
            return row is not None and bool(self.dense.quick.has([row])[0])

    def alike(self, key: str, k: int) -> list[tuple[str, float]]:
        """Return the ids and cosines of the k memories nearest in meaning to this one, nearest
        first. Empty if the memory is not in the index or has no vector yet."""
        with self._lock:
            row = self._columns.row_of.get(key)
            if row is None or not self.dense.quick.has([row])[0]:
                return []
            quick = self.dense.quick
            rows, cosines = quick.search(quick.about([row])[0], k + 1)
            found = zip(rows.tolist(), cosines.tolist(), strict=True)
            shown = ((each, cosine) for each, cosine in found if not self._columns.hidden[each])
            return [(self._columns.ids[each], cosine) for each, cosine in shown if each != row][:k]

    def newest(self, count: int) -> list[str]:
        with self._lock:
            return [self._columns.ids[row] for row in self._columns.living()[-count:]]

    def recent(self, k: int, exclude: Collection[str], now: datetime) -> list[RecalledMemory]:
        """Return the user's newest statements, newest first; [] if the index is locked.

        Args:
            exclude: as in `search`.
        """
        if not self._lock.acquire(timeout=BREATH_S):
            return []
        try:
            return newest_stated(self._columns, k, exclude, now)
        finally:
            self._lock.release()

    def expired(self, now: datetime) -> list[str]:
        with self._lock:
            return self._columns.expired(now)

    def speakers(self) -> frozenset[str]:
        return self._columns.all_speakers

    def search(
        self,
        question: Question,
        vector: Vector | None,
        *,
        stronger: Vector | None = None,
        k: int,
        now: datetime,
        exclude: Collection[str] = (),
        limit: SearchDeadline | None = None,
    ) -> list[RecalledMemory]:
        """Return the best memories for a question, best first, without earlier instances of the
        same question.

        Args:
            vector: of `question.meaning`, shape (dimensions,). None: search only by words.
            stronger: the stronger encoder's vector, if it was ready in time.
            exclude: ids of exchanges in the prompt; memories based on them are left out.
            limit: the deadline; default: none. If time runs short, the ranking is simplified, only
                words count, or nothing is found.
        """
        limit = limit or SearchDeadline(math.inf)
        if not limit.acquire(self._lock):
            return []
        try:
            vectors = QueryVectors(vector, stronger)
            return searched(self._parts, question, vectors, k, now, exclude, limit)
        finally:
            self._lock.release()


def _words_of(memory: Memory) -> tuple[str, str]:
    """Return a memory's text and context for the lexical index. Only the start of a long text is
    used, because a pasted megabyte would slow down every recall. Both are empty for a summary. It
    isn't searched by words, because it would make the words of its sources seem common."""
    if memory.kind is MemoryKind.SUMMARY:
        return "", ""
    return memory.text[:LONGEST_DOCUMENT], memory.context
