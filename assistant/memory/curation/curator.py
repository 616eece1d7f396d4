"""Merges repeated memories, marks outdated ones as superseded, and deletes expired ones.

Runs on the writing thread, so nobody waits for it.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.reconcile import (
    DUPLICATE_COSINE,
    Decision,
    Repeats,
    ReplacedBy,
    least_cosine,
    may_matter,
    reconcile,
    refreshed,
    superseded,
    tells_of_change,
)
from assistant.memory.records.ids import telling
from assistant.memory.records.lifetimes import Lifetimes
from assistant.memory.records.memory import Memory, MemoryKind, said
from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript import fact_rows
from assistant.memory.transcript.database import Transcript
from assistant.settings import Memory as MemorySettings

NEAR = 64
"""Number of nearest memories that a new memory is compared with."""
LOOKED_AT_AGAIN = 32
"""Number of newest memories that are compared again at startup, because the program may have been
killed before it had compared them.
"""
MOST_COMPARED = 20_000
"""Maximum number of new memories that are compared in one run; the newest are chosen. Comparing
this many, e.g. after a lost table was rebuilt, takes a minute.
"""
EXPIRED_AT_ONCE = 500
"""Maximum number of expired memories deleted per write."""
SWEPT_EVERY_S = 300.0
LINKS = ("id", "kind", "speaker", "sources", "supersedes", "superseded_by", "pinned")
"""The table columns that make up `MemoryLinks`."""


@dataclass(frozen=True, slots=True)
class MemoryLinks:
    """The fields of a memory that link it to other memories and to exchanges."""

    id: str
    kind: MemoryKind
    speaker: str
    sources: tuple[str, ...]
    supersedes: tuple[str, ...]
    superseded_by: str | None
    pinned: bool


@dataclass(frozen=True, slots=True)
class CurationPolicy:
    """Settings for merging and expiry. By default, no memory expires."""

    duplicate_cosine: float = DUPLICATE_COSINE
    lifetimes: Lifetimes = field(default_factory=Lifetimes)

    @classmethod
    def of(cls, settings: MemorySettings) -> "CurationPolicy":
        return cls(settings.duplicate_cosine, Lifetimes.of(settings))


class Curator:
    """Curates one user's memories.

    Args:
        forget: removes the given texts from the caches outside the table and the index.
    """

    def __init__(
        self,
        user_id: str,
        lexicon: TextAnalyzer,
        policy: CurationPolicy,
        forget: Callable[[Iterable[str]], None],
    ) -> None:
        self._policy = policy
        self._user_id = user_id
        self._lexicon = lexicon
        self._forget = forget
        self._queued: dict[str, None] = {}
        """Ids of memories to compare. Other threads add to it; each addition is atomic."""
        self._stands: dict[str, str] = {}
        self._leaving: dict[str, str] = {}
        """Ids of merged memories that may have been deleted from the table, each with the id of the
        memory that it was merged into.
        """
        self._next_sweep = 0.0

    def told(self, ids: Iterable[str]) -> None:
        """Queue new memories, which are compared once they have vectors. Any thread may call
        this.
        """
        self._queued.update(dict.fromkeys(ids))

    def standing(self, ids: Iterable[str]) -> list[str]:
        """Return the current ids of these memories. For a merged memory, this is the id of the
        memory that it was merged into.
        """
        return list(dict.fromkeys(self._stands.get(key, key) for key in ids))

    # -- repeated or changed --------------------------------------------------------------------

    def settle(self, index: UserIndex, table: MemoryTable) -> None:
        """Compare new memories with older ones, in the order in which they were said.

        Raises:
            StoreError: the table failed. The remaining memories are compared later.
        """
        queued = list(self._queued)[-MOST_COMPARED:]
        wanted = list(dict.fromkeys([*queued, *self._leaving]))
        rows = {each.id: each for each in table.get(self._user_id, wanted)} if wanted else {}
        found = sorted((rows[key] for key in queued if key in rows), key=said)
        waiting = {memory.id for memory in found}
        for memory in found:
            waiting.discard(memory.id)
            if not index.has_vector(memory.id):
                continue
            if may_matter(memory, self._lexicon):
                near = index.alike(memory.id, NEAR)
                others = {key: cosine for key, cosine in near if key not in waiting}
                self._compare(memory, others, index, table)
            self._done([memory.id])
        # Merged memories that are no longer in the table.
        for key in [key for key in self._leaving if key not in rows]:
            self._left(key, index)
        # Ids that aren't in the table leave the queue, because those memories were deleted or never
        # written. But a memory in the index without a vector is still waiting to be written.
        self._done(k for k in queued if k not in rows and (k not in index or index.has_vector(k)))

    def _done(self, ids: Iterable[str]) -> None:
        for key in ids:
            self._queued.pop(key, None)

    def _compare(
        self, memory: Memory, near: Mapping[str, float], index: UserIndex, table: MemoryTable
    ) -> None:
        least = least_cosine(memory, self._lexicon, self._policy.duplicate_cosine)
        wanted = [key for key, cosine in near.items() if cosine >= least]
        if not wanted:
            return
        others = [(old, near[old.id]) for old in table.get(self._user_id, wanted)]
        decision = self._decided(memory, others)
        while isinstance(decision, Repeats) and tells_of_change(
            memory, decision.old, self._lexicon
        ):
            gone = decision.old
            memory = self._merge(memory, gone, index, table)
            others = [each for each in others if each[0].id != gone.id]
            decision = self._decided(memory, others)
        if isinstance(decision, Repeats):
            self._merge(decision.old, memory, index, table)
        elif decision is not None:
            if isinstance(decision, ReplacedBy):
                changed = superseded(decision.by, [memory])
            else:
                changed = superseded(memory, decision.old)
            table.update(changed)
            _update(index, table, changed)

    def _decided(self, memory: Memory, others: Sequence[tuple[Memory, float]]) -> Decision:
        return reconcile(memory, others, self._lexicon, self._policy.duplicate_cosine)

    def _merge(self, old: Memory, new: Memory, index: UserIndex, table: MemoryTable) -> Memory:
        """Merge `new` into `old`, and return the new version of `old`."""
        # Update before deleting: if the merge is interrupted, `new` still exists, or its exchange
        # is among the sources of `old`.
        kept = refreshed(old, new)
        if not table.update([kept]):  # `old` was forgotten meanwhile, and `new` was not
            return old
        _update(index, table, [kept])
        # A deletion that is reported as failed may have happened nonetheless.
        self._leaving[new.id] = old.id
        table.delete(self._user_id, [new.id])
        self._left(new.id, index)
        if new.text != old.text:
            self._forget([new.text])
        return kept

    def _left(self, key: str, index: UserIndex) -> None:
        """Record that a merged memory is no longer in the table."""
        self._stands[key] = self._leaving.pop(key)
        if key in index:
            index.remove([key])

    # -- expired --------------------------------------------------------------------------------

    def due(self) -> bool:
        """Whether it is time to look for expired memories. If so, restarts the interval."""
        now = time.monotonic()
        if now < self._next_sweep:
            return False
        self._next_sweep = now + SWEPT_EVERY_S
        return True

    def sweep(self, index: UserIndex, transcript: Transcript | None, table: MemoryTable) -> None:
        """Delete expired memories, and those that depend on them.

        Raises:
            StoreError: the table or the transcript failed. Call the method again later.
        """
        now = datetime.now(UTC)
        expired = set(index.expired(now))
        if not expired:
            return
        outlines = [
            MemoryLinks(*row)
            for batch in table.scan(self._user_id, LINKS)
            for row in zip(*map(batch.values, LINKS), strict=True)
        ]
        gone = expiring_with(expired, outlines)
        if transcript is not None:
            # Record this first: a memory deleted without the record would be created again.
            turns = [
                each for each in outlines if each.id in gone and each.kind is MemoryKind.EXCHANGE
            ]
            pairs = [(key, telling(key, each.speaker)) for each in turns for key in each.sources]
            pairs += fact_rows.tellings(
                (each.id, each.sources) for each in outlines if each.id in gone
            )
            transcript.note_expired(self._user_id, pairs, now)
        after = [each.id for each in outlines if each.id not in gone and gone & {*each.supersedes}]
        changed = [_without(memory, gone) for memory in table.get(self._user_id, after)]
        if changed:
            table.update(changed)
            _update(index, table, changed)
        # Delete the expired ones last: if the process is killed, the next sweep still finds what
        # depends on them.
        ids = [*sorted(gone - expired), *sorted(expired)]
        for start in range(0, len(ids), EXPIRED_AT_ONCE):
            self._remove(ids[start : start + EXPIRED_AT_ONCE], index, table)

    def _remove(self, ids: Sequence[str], index: UserIndex, table: MemoryTable) -> None:
        texts = {memory.text for memory in table.get(self._user_id, ids)}
        table.delete(self._user_id, ids)
        index.remove(ids)
        self._forget(texts)


def expiring_with(expired: Collection[str], every: Sequence[MemoryLinks]) -> set[str]:
    """Return the ids of the expired memories and of those that depend on them.

    The latter are memories derived only from the user's words in expired memories, and older
    memories that an expired one had superseded. Without the newer memory, the older ones would seem
    true again. Pinned memories are kept even if they depend on expired ones.
    """
    gone = set(expired)
    while True:
        dead = {
            source
            for each in every
            if each.id in gone and each.kind is MemoryKind.EXCHANGE and each.speaker == USER
            for source in each.sources
        }
        more = {
            each.id
            for each in every
            if each.id not in gone
            and not each.pinned
            and (each.superseded_by in gone or _derived_from(each, dead))
        }
        if not more:
            return gone
        gone |= more


def _derived_from(each: MemoryLinks, exchanges: set[str]) -> bool:
    derived = each.kind is not MemoryKind.EXCHANGE and bool(each.sources)
    return derived and exchanges.issuperset(each.sources)


def _without(memory: Memory, gone: Collection[str]) -> Memory:
    return replace(memory, supersedes=tuple(key for key in memory.supersedes if key not in gone))


def _update(index: UserIndex, table: MemoryTable, memories: Sequence[Memory]) -> None:
    """Update the index in RAM with memories written to the table, except those forgotten
    meanwhile.
    """
    for memory in table.forgotten.kept(memories):
        if memory.id in index:
            index.update(memory)
