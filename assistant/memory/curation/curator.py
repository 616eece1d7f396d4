"""Keeps one user's memories clean: merges repetitions, marks what no longer holds, and deletes what
has expired. Runs on the writing thread, so nobody waits for it."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.expiry import OUTLINE, MemoryLinks, expiring_with
from assistant.memory.curation.reconcile import (
    DUPLICATE_COSINE,
    Decision,
    Distinct,
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
"""Nearest memories that a new one is compared with."""
LOOKED_AT_AGAIN = 32
"""Newest memories to compare again at a start, in case the program was killed before that."""
MOST_COMPARED = 20_000
"""Maximum number of new memories compared at once: the newest ones. After a lost table was rebuilt,
this takes a minute."""
EXPIRED_AT_ONCE = 500
"""Per write."""
SWEPT_EVERY_S = 300.0


@dataclass(frozen=True, slots=True)
class CurationPolicy:
    """What is merged and what expires; by default nothing expires."""

    duplicate_cosine: float = DUPLICATE_COSINE
    lifetimes: Lifetimes = field(default_factory=Lifetimes)

    @classmethod
    def of(cls, settings: MemorySettings) -> "CurationPolicy":
        return cls(settings.duplicate_cosine, Lifetimes.of(settings))


class Curator:
    """Curates one user's memories.

    Args:
        forget: drops everything cached about these texts outside table and index.
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
        self._told: dict[str, None] = {}
        """Other threads add to it, atomically."""
        self._stands: dict[str, str] = {}
        self._leaving: dict[str, str] = {}
        """Merged memories that may be gone from the table: their ids, and those of the ones that
        stay."""
        self._next_sweep = 0.0

    def told(self, ids: Iterable[str]) -> None:
        """Queue new memories for comparison once they have vectors. Any thread."""
        self._told.update(dict.fromkeys(ids))

    def standing(self, ids: Iterable[str]) -> list[str]:
        """The current ids of these: a merged memory has the id of the older one."""
        return list(dict.fromkeys(self._stands.get(key, key) for key in ids))

    # -- repeated or changed --------------------------------------------------------------------

    def settle(self, index: UserIndex, table: MemoryTable) -> None:
        """Compare new memories with older ones, in the order they were said.

        Raises:
            StoreError: the table failed. The rest is compared another time.
        """
        told = list(self._told)[-MOST_COMPARED:]
        wanted = list(dict.fromkeys([*told, *self._leaving]))
        rows = {each.id: each for each in table.get(self._user_id, wanted)} if wanted else {}
        found = sorted((rows[key] for key in told if key in rows), key=said)
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
        # Drop those that are gone or could not be written; keep those still waiting to be written.
        for key in [key for key in self._leaving if key not in rows]:
            self._left(key, index)
        self._done(k for k in told if k not in rows and (k not in index or index.has_vector(k)))

    def _done(self, ids: Iterable[str]) -> None:
        for key in ids:
            self._told.pop(key, None)

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
        elif not isinstance(decision, Distinct):
            if isinstance(decision, ReplacedBy):
                changed = superseded(decision.by, [memory])
            else:
                changed = superseded(memory, decision.old)
            table.update(changed)
            _update(index, table, changed)

    def _decided(self, memory: Memory, others: Sequence[tuple[Memory, float]]) -> Decision:
        return reconcile(memory, others, self._lexicon, self._policy.duplicate_cosine)

    def _merge(self, old: Memory, new: Memory, index: UserIndex, table: MemoryTable) -> Memory:
        """Merge `new` into `old`, which stays; returns its new version."""
        # In this order: if interrupted, the new one still exists or is among the sources.
        kept = refreshed(old, new)
        if not table.update([kept]):  # it was forgotten meanwhile, and the new one was not
            return old
        _update(index, table, [kept])
        # A failed change may have been made all the same.
        self._leaving[new.id] = old.id
        table.delete(self._user_id, [new.id])
        self._left(new.id, index)
        if new.text != old.text:
            self._forget([new.text])
        return kept

    def _left(self, key: str, index: UserIndex) -> None:
        """The table no longer has it."""
        self._stands[key] = self._leaving.pop(key)
        if key in index:
            index.remove([key])

    # -- expired --------------------------------------------------------------------------------

    def due(self) -> bool:
        """Whether it is time to look for expired memories."""
        now = time.monotonic()
        if now < self._next_sweep:
            return False
        self._next_sweep = now + SWEPT_EVERY_S
        return True

    def sweep(self, index: UserIndex, transcript: Transcript | None, table: MemoryTable) -> None:
        """Delete expired memories, and what is based on them.

        Raises:
            StoreError: the table or the transcript failed; call it again later.
        """
        now = datetime.now(UTC)
        expired = set(index.expired(now))
        if not expired:
            return
        outlines = [
            MemoryLinks(*row)
            for batch in table.scan(self._user_id, OUTLINE)
            for row in zip(*map(batch.values, OUTLINE), strict=True)
        ]
        gone = expiring_with(expired, outlines)
        if transcript is not None:
            # First, since a memory deleted without this record would be created again.
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


def _without(memory: Memory, gone: Collection[str]) -> Memory:
    return replace(memory, supersedes=tuple(key for key in memory.supersedes if key not in gone))


def _update(index: UserIndex, table: MemoryTable, memories: Sequence[Memory]) -> None:
    """Update RAM with what was written, except what has been forgotten meanwhile."""
    for memory in table.forgotten.kept(memories):
        if memory.id in index:
            index.update(memory)
