"""All memories of one user in RAM, as recall searches them.

Row numbers are the same in the lexical index, the vectors and the metadata. A forgotten row stays
as an empty gap, so that the others keep their numbers.
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
"""Number of memories outlined under one lock, which takes two milliseconds."""
ADDED_AT_ONCE = 32
"""Number of memories added under one lock, which takes two milliseconds."""
LONG = 2_000
"""Maximum number of unmerged memories in the word index, which searches them one by one."""
BREATH_S = 0.0005


class UserIndex:
    """Thread-safe: searches and changes wait for each other for a few milliseconds, and a search no
    longer than its limit.

    Args:
        dimensions: of the fast encoder's vectors. "Vectors" means these unless stated otherwise.
        lifetimes: when memories without a date of their own expire; default: never.
        enrichment: the weights of results of idle work; default: 0.
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
        """Any thread may read its properties; the rest is only for this index."""
        self._expansions = DocumentExpansion(dimensions, enrichment or ExpansionWeights())
        self._columns = RowMetadata(lifetimes or Lifetimes())
        rows = (self._lexical, self.dense, self._expansions, self._columns)
        self._parts = Parts(lexicon, *rows, ranking)
        self._lock = threading.Lock()
        self.profile: tuple[MemoryUsed, ...] = ()
        """Notes that are always in the prompt. Replaced as a whole, so that no lock is needed."""

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
        """Load a scan of the table, in the order things were said; without vectors if there is no
        encoder.

        Raises:
            StoreError: the scan failed; the index has the memories that were read before.
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
            # All at once: merging each large piece would take longer.
            self._lexical.add([text for text, _ in given], [context for _, context in given])
            self.profile = self._columns.profile()

    def add(self, memories: Sequence[Memory], vectors: Vectors | None = None) -> None:
        """Add memories. They can be found by words when this returns, and by meaning once they have
        vectors. Many are added in small batches, so that searches and forgetting wait only briefly.

        Args:
            vectors: shape (len(memories), dimensions); NaN where there is none yet.

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
        """Set vectors; skips memories that are no longer in the index."""
        with self._lock:
            known = [at for at, key in enumerate(ids) if key in self._columns.row_of]
            rows = [self._columns.row_of[ids[at]] for at in known]
            self.dense.replace(rows, vectors[known], stronger=stronger)

    def attach_stronger(self, dimensions: int) -> None:
        """Add a stronger encoder; its vectors are added little by little."""
        with self._lock:
            self.dense.attach(dimensions)

    def saying(self, ids: Sequence[str], texts: Sequence[str]) -> list[int]:
        """Positions of the memories that are in the index and still have this text."""
        with self._lock:
            rows, said = self._columns.row_of, self._columns.texts
            known = [at for at, key in enumerate(ids) if key in rows]
            return [at for at in known if said[rows[ids[at]]] == texts[at]]

    def update(self, memory: Memory) -> None:
        """Replace a memory's fields. A changed text needs a new vector too.

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
        """Replace the expansions of memories; skips memories that are gone or have another
        text now."""
        with self._lock:
            row_of, texts = self._columns.row_of, self._columns.texts
            here = {row_of[key]: each for key, each in expansions.items() if key in row_of}
            self._expansions.put({n: each for n, each in here.items() if each.fits(texts[n])})

    def remove(self, ids: Iterable[str]) -> None:
        """Remove from recall at once; `purge` removes every trace of the words."""
        with self._lock:
            rows = [self._columns.row_of[key] for key in ids if key in self._columns.row_of]
            if rows:
                self._lexical.remove(rows)
                self.dense.remove(rows)
                self._expansions.remove(rows)
                self._columns.remove(rows)
                self.profile = self._columns.profile()

    def hide(self, exchanges: Collection[str], ids: Collection[str]) -> None:
        """Hide these memories and all that are based on these exchanges, even if added later; show
        all others. Takes about 0.1 ms for a hundred."""
        with self._lock:
            self._columns.hide(exchanges, ids)
            self._expansions.hide(exchanges)
            self.profile = self._columns.profile()

    def outlines(
        self, exchanges: Collection[str] | None = None, ids: Collection[str] = ()
    ) -> dict[str, Memory]:
        """Memories by id, with the fields that are in RAM: those based on these exchanges, and
        those with these ids; default: all. Hidden ones are left out. Blocking; searches wait for
        one piece at a time."""
        with self._lock:
            columns = self._columns
            if exchanges is None:
                rows: list[int] = columns.living().tolist()
            else:
                rows = sorted(columns.based_on(exchanges, ids))
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
        """Merge new rows into the large index; meant for times of silence."""
        self._lexical.merge()

    def purge(self) -> None:
        """Remove hidden expansions, and every word that occurred only in removed memories."""
        with self._lock:
            self._expansions.delete_hidden()
            self._columns.forget_speakers()
        self._lexical.purge()

    def age(
        self, tiers: Tiers, now: datetime, *reads: Callable[[Sequence[str]], Mapping[str, Vector]]
    ) -> None:
        """Reassign the tiers; searches continue meanwhile.

        Args:
            reads: functions that return exact vectors by id, as far as available: first the fast
                encoder's, then the stronger one's, if any. If one raises, its tiers are unchanged.
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
        """The tier of a memory; None if it isn't in the index."""
        with self._lock:
            row = self._columns.row_of.get(key)
            return self.dense.quick.tiers([row])[0] if row is not None else None

    def tier_counts(self) -> dict[Tier, int]:
        """How many memories each tier holds, without hidden ones; memories without a vector count
        as cold."""
        with self._lock:
            quick = self.dense.quick
            hot, warm = len(quick.hot), len(quick.warm)
            hidden = Counter(quick.tiers(np.flatnonzero(self._columns.hidden)))
            all_of_them = {Tier.HOT: hot, Tier.WARM: warm, Tier.COLD: len(self) - hot - warm}
            return {tier: count - hidden[tier] for tier, count in all_of_them.items()}

    def without_vectors(self, limit: int, *, stronger: bool = False) -> tuple[list[str], list[str]]:
        """Ids and texts of memories without a vector, newest first."""
        columns = self._columns
        with self._lock:
            if stronger:
                rows = self.dense.lacking(limit)
            else:
                living = columns.living()
                rows = living[~self.dense.quick.has(living)][::-1][:limit].tolist()
            return [columns.ids[row] for row in rows], [columns.texts[row] for row in rows]

    def nearest(self, vector: Vector, k: int) -> list[str]:
        """Ids of the k memories nearest in meaning, regardless of anything else."""
        with self._lock:
            rows, _ = self.dense.quick.search(vector, k)
            return [self._columns.ids[row] for row in rows]

    def has_vector(self, key: str) -> bool:
        with self._lock:
            row = self._columns.row_of.get(key)
            return row is not None and bool(self.dense.quick.has([row])[0])

    def alike(self, key: str, k: int) -> list[tuple[str, float]]:
        """Ids of the k memories nearest in meaning to this one, nearest first, with cosines;
        empty if it is gone, or has no vector yet."""
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
        """The user's newest statements, newest first; none while the index is being changed.

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
        """The best memories for a question, best first, without earlier instances of the same
        question.

        Args:
            vector: of `question.meaning`, shape (dimensions,); None: search only by words.
            stronger: the stronger encoder's vector, if it was ready in time.
            exclude: exchanges already in the prompt; memories based on them are left out.
            limit: once it has passed, only words count, or nothing is found; default: no limit.
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
    """Text and context for the lexical index. Only the beginning of a long text is returned, since
    a pasted megabyte would make recall slow for ever. Both are empty for a summary, which is not
    searched by words, and would make its sources' words seem common."""
    if memory.kind is MemoryKind.SUMMARY:
        return "", ""
    return memory.text[:LONGEST_DOCUMENT], memory.context
