"""All memories of one user, in RAM, as recall searches them.

Rows 0, 1, 2… are the same in the lexical index, the vectors and the columns here. A row that is
forgotten stays as a gap without content, so that the others keep their numbers.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from assistant.context.notes import Note
from assistant.memory.columns import Columns
from assistant.memory.encoding import LONGEST_DOCUMENT
from assistant.memory.enriched import Enrichment, Extra, Extras
from assistant.memory.expiry import Lifetimes
from assistant.memory.facts import sufficient
from assistant.memory.found import Found as Found
from assistant.memory.found import Recalled as Recalled
from assistant.memory.lexical import LexicalIndex
from assistant.memory.lexicon import Lexicon
from assistant.memory.question import Question
from assistant.memory.ranking import Candidates, Evidence, Ranked, Ranking, rank, to_be_ranked
from assistant.memory.record import Memory
from assistant.memory.table_schema import Batch
from assistant.memory.tiers import Tier, Tiers, assigned
from assistant.memory.vectors import VectorIndex

Rows = NDArray[np.int64]
Vector = NDArray[np.float32]
Vectors = NDArray[np.float32]

CANDIDATES = 200
"""The best by words and the best by meaning; their neighbours in the conversation come on top."""
OUTLINED_AT_ONCE = 250
"""Two milliseconds."""
BREATH_S = 0.0005
REPEATING = 6
"""Ranked beyond what is asked for, in place of those that only ask, or tell, the same."""


class UserIndex:
    """Thread-safe: a search and a change wait for each other, for a millisecond or two.

    Args:
        dimensions: of the encoder's vectors.
        lifetimes: when memories without a date of their own expire; default: never.
        enrichment: what of that which was made of them counts; default: nothing.
    """

    def __init__(
        self,
        user_id: str,
        lexicon: Lexicon,
        dimensions: int,
        ranking: Ranking,
        lifetimes: Lifetimes | None = None,
        enrichment: Enrichment | None = None,
    ) -> None:
        self.user_id = user_id
        self._lexicon = lexicon
        self._lexical = LexicalIndex(lexicon)
        self._vectors = VectorIndex(dimensions)
        self._extras = Extras(lexicon, dimensions, enrichment or Enrichment())
        self._columns = Columns(lifetimes or Lifetimes())
        self._ranking = ranking
        self._lock = threading.Lock()
        self.profile: tuple[Note, ...] = ()
        """What is always in the prompt. Replaced as a whole, so it is read without a lock."""

    def __len__(self) -> int:
        """Memories that there are."""
        return len(self._columns.row_of)

    @property
    def shown(self) -> int:
        """Those of them that are not withheld."""
        with self._lock:
            return len(self) - len(self._columns.all_withheld())

    def __contains__(self, key: str) -> bool:
        return key in self._columns.row_of

    def sources(self) -> set[str]:
        """The exchanges of the transcript that some memory rests on."""
        with self._lock:
            return {source for each in self._columns.sources for source in each}

    def load(self, batches: Iterable[Batch], encoder: str | None) -> None:
        """Take in a scan of the table, which comes in the order in which things were said; without
        an encoder they have no vectors yet.

        Raises:
            StoreError: the scan broke off; the index holds what had come by then.
        """
        texts: list[str] = []
        contexts: list[str] = []
        try:
            for batch in batches:
                memories = batch.memories()
                if encoder is None:
                    self._vectors.add_without(len(memories))
                else:
                    vectors, present = batch.vectors(encoder)
                    self._vectors.add(np.where(present[:, np.newaxis], vectors, np.float32(np.nan)))
                self._columns.add(memories)
                texts += [_head(memory.text) for memory in memories]
                contexts += [memory.context for memory in memories]
        finally:
            # All at once: each large piece is folded into the whole.
            self._lexical.add(texts, contexts)
            self.profile = self._columns.profile()

    def add(self, memories: Sequence[Memory], vectors: Vectors | None = None) -> None:
        """They are found by their words when this returns, and by meaning once they have vectors.

        Args:
            vectors: shape (len(memories), dimensions); NaN where there is none yet.

        Raises:
            ValueError: a memory is another user's, or is there already.
        """
        for memory in memories:
            if memory.user_id != self.user_id or memory.id in self._columns.row_of:
                raise ValueError(f"memory {memory.id} does not belong here, or is here already")
        with self._lock:
            self._lexical.add([_head(m.text) for m in memories], [m.context for m in memories])
            if vectors is None:
                self._vectors.add_without(len(memories))
            else:
                self._vectors.add(vectors)
            self._columns.add(memories)
            self.profile = self._columns.profile()

    def set_vectors(self, ids: Sequence[str], vectors: Vectors) -> None:
        """Those of memories that are gone by now are dropped."""
        with self._lock:
            known = [at for at, key in enumerate(ids) if key in self._columns.row_of]
            rows = [self._columns.row_of[ids[at]] for at in known]
            if rows:
                self._vectors.replace(rows, vectors[known])

    def update(self, memory: Memory) -> None:
        """Its fields are other ones now. A changed text needs a new vector too.

        Raises:
            KeyError: it isn't here.
        """
        with self._lock:
            row = self._columns.row_of[memory.id]
            if memory.text != self._columns.texts[row]:
                self._vectors.remove([row])
                self._extras.remove([row])
            self._lexical.replace(row, _head(memory.text), memory.context)
            self._columns.write(row, memory)
            self.profile = self._columns.profile()

    def enrich(self, extras: Mapping[str, Extra]) -> None:
        """What was made of memories, in place of what was; those that are not here, or have another
        text by now, are left out."""
        with self._lock:
            row_of, texts = self._columns.row_of, self._columns.texts
            here = {row_of[key]: each for key, each in extras.items() if key in row_of}
            self._extras.put({n: each for n, each in here.items() if each.fits(texts[n])})

    def remove(self, ids: Iterable[str]) -> None:
        """Out of recall at once; `purge` leaves no trace of their words."""
        with self._lock:
            rows = [self._columns.row_of[key] for key in ids if key in self._columns.row_of]
            if rows:
                self._lexical.remove(rows)
                self._vectors.remove(rows)
                self._extras.remove(rows)
                self._columns.remove(rows)
                self.profile = self._columns.profile()

    def withhold(self, exchanges: Collection[str], ids: Collection[str]) -> None:
        """What rests on these exchanges, and these memories, is not found from now on, nor always
        told. Takes microseconds."""
        with self._lock:
            self._columns.withhold(exchanges, ids)
            self._extras.withhold(exchanges)
            self.profile = self._columns.profile()

    def release(self, exchanges: Collection[str], ids: Collection[str]) -> None:
        """As before `withhold`."""
        with self._lock:
            self._columns.release(exchanges, ids)
            self._extras.release(exchanges)
            self.profile = self._columns.profile()

    def outlines(
        self, exchanges: Collection[str] | None = None, ids: Collection[str] = ()
    ) -> dict[str, Memory]:
        """By their ids, without what only the table knows: what rests on these exchanges, and these
        memories; default: all. What is withheld is left out. Blocking; a search waits for a
        piece of it alone."""
        with self._lock:
            columns = self._columns
            if exchanges is None:
                rows: list[int] = columns.living().tolist()
            else:
                rows = sorted(columns.resting_on(exchanges, ids))
        found: dict[str, Memory] = {}
        for at in range(0, len(rows), OUTLINED_AT_ONCE):
            if at:
                time.sleep(BREATH_S)  # who waits for the lock would not get it in between
            with self._lock:
                found |= columns.outlines(self.user_id, rows[at : at + OUTLINED_AT_ONCE])
        return found

    @property
    def unmerged(self) -> int:
        """Memories that `tidy` would fold in."""
        return self._lexical.unmerged

    def tidy(self) -> None:
        """Fold what is new into the large index; for when nobody speaks."""
        self._lexical.merge()
        self._extras.tidy()

    def purge(self) -> None:
        """Drop every word that only a removed memory had, or what was made of it."""
        with self._lock:
            self._extras.drop_withheld()
        self._lexical.purge()
        self._extras.purge()

    def age(
        self, tiers: Tiers, now: datetime, read: Callable[[Sequence[str]], Mapping[str, Vector]]
    ) -> None:
        """Choose anew what is in which tier; searches go on meanwhile.

        Args:
            read: gives exact vectors by id, as far as it has them; may raise, and then nothing has
                changed.
        """
        with self._lock:
            rows = self._columns.living()
            rows = rows[self._columns.eligible(rows, (), now)]
            chosen = assigned(self._columns.marks(rows), tiers, now.timestamp())

        def vectors_of(hot: Rows) -> Vectors:
            with self._lock:
                ids = [self._columns.ids[row] for row in hot]
            found = read([key for key in ids if key])
            none = np.full(self._vectors.dimensions, np.nan, np.float32)
            return np.stack([found.get(key, none) for key in ids])

        self._vectors.set_hot(rows[chosen[Tier.HOT]], vectors_of)
        self._vectors.set_warm(rows[chosen[Tier.WARM]])

    def tier(self, key: str) -> Tier | None:
        """Of one memory; None where it isn't here."""
        with self._lock:
            row = self._columns.row_of.get(key)
            return None if row is None else self._vectors.tiers([row])[0]

    def tier_counts(self) -> dict[Tier, int]:
        """How many memories each tier holds, without the withheld; the cold one all without a
        vector too."""
        with self._lock:
            hot, warm = len(self._vectors.hot), len(self._vectors.warm)
            withheld = Counter(self._vectors.tiers(self._columns.all_withheld()))
            all_of_them = {Tier.HOT: hot, Tier.WARM: warm, Tier.COLD: len(self) - hot - warm}
            return {tier: count - withheld[tier] for tier, count in all_of_them.items()}

    def without_vectors(self, limit: int) -> tuple[list[str], list[str]]:
        """Ids and texts of what has no vector yet, the newest first."""
        with self._lock:
            rows = self._columns.living()
            waiting = rows[~self._vectors.has(rows)][::-1][:limit]
            return (
                [self._columns.ids[row] for row in waiting],
                [self._columns.texts[row] for row in waiting],
            )

    def nearest(self, vector: NDArray[np.float32], k: int) -> list[str]:
        """Ids of the k nearest in meaning, whatever else speaks for or against them."""
        with self._lock:
            rows, _ = self._vectors.search(vector, k)
            return [self._columns.ids[row] for row in rows]

    def has_vector(self, key: str) -> bool:
        """Whether the memory is there and has its vector."""
        with self._lock:
            row = self._columns.row_of.get(key)
            return row is not None and bool(self._vectors.has([row])[0])

    def alike(self, key: str, k: int) -> list[tuple[str, float]]:
        """Ids of the k nearest in meaning to a memory, nearest first, with their cosines; none
        where it is gone, or has no vector yet."""
        with self._lock:
            row = self._columns.row_of.get(key)
            if row is None or not self._vectors.has([row])[0]:
                return []
            rows, cosines = self._vectors.search(self._vectors.about([row])[0], k + 1)
            found = zip(rows.tolist(), cosines.tolist(), strict=True)
            shown = ((each, cosine) for each, cosine in found if not self._columns.withheld(each))
            return [(self._columns.ids[each], cosine) for each, cosine in shown if each != row][:k]

    def newest(self, count: int) -> list[str]:
        """Ids of those that came last."""
        with self._lock:
            return [self._columns.ids[row] for row in self._columns.living()[-count:]]

    def expired(self, now: datetime) -> list[str]:
        """Ids of what has expired, and comes up no more."""
        with self._lock:
            return self._columns.expired(now)

    def speakers(self) -> set[str]:
        """All of whom there is something."""
        return self._columns.all_speakers

    def search(
        self,
        question: Question,
        vector: NDArray[np.float32] | None,
        *,
        k: int,
        now: datetime,
        exclude: Collection[str] = (),
    ) -> list[Found]:
        """The best memories for a question, best first, without that same question, asked before.

        Args:
            vector: of `question.meaning`, shape (dimensions,); None goes by the words alone.
            exclude: exchanges that the prompt holds anyway; memories that rest on them stay out.
        """
        with self._lock:
            lexical = self._lexical.score(question.words)
            own = self._extras.words(question.words, lexical.own)
            near = np.empty(0, np.int64)
            if vector is not None:
                near = self._vectors.search(vector, CANDIDATES)[0].astype(np.int64)
                near = self._extras.near(vector, CANDIDATES, near)
            size = len(own)
            before, after = self._columns.before[:size], self._columns.after[:size]
            rows = to_be_ranked(own, near, before, after, CANDIDATES)
            rows = rows[self._columns.eligible(rows, exclude, now)]
            if not len(rows):
                return []
            cosine = np.zeros(len(rows), np.float32)
            if vector is not None:
                cosine = self._vectors.cosines(vector, rows, missing=np.nan)
                cosine = self._extras.cosines(vector, rows, cosine)
            chosen = Candidates(
                rows=rows,
                evidence=Evidence(
                    cosine.astype(np.float64),
                    own[rows].astype(np.float64),
                    lexical.context[rows].astype(np.float64),
                    question.speaker,
                ),
                before=self._columns.before[rows],
                after=self._columns.after[rows],
                features=self._columns.features(rows, now),
                vectors=None if vector is None else lambda at: self._vectors.about(rows[at]),
            )
            ranked = rank(chosen, self._ranking, k + REPEATING)
            asked = self._lexicon.terms(question.text)
            tiers = self._vectors.tiers([each.row for each in ranked])
            tiered = zip(ranked, tiers, strict=True)
            found = (self._found(asked, each, tier) for each, tier in tiered)
            return list(islice(sufficient(found), k))

    def _found(self, asked: Mapping[str, set[str]], ranked: Ranked, tier: Tier) -> Found:
        """`asked`: the question's words and their stems."""
        columns, row = self._columns, ranked.row
        text = columns.texts[row]
        there = set(self._lexicon.content(_head(text)))
        return Found(
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
            adds=columns.states(row) or not there.issubset(chain.from_iterable(asked.values())),
        )


def _head(text: str) -> str:
    """What is looked at of a text: whoever pastes a megabyte must not make recall late for ever."""
    return text[:LONGEST_DOCUMENT]
