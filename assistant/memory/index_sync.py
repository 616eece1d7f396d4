"""Keeps the transcript, the table on disk and the index in RAM consistent for one user. Runs on the
writer thread."""

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from assistant.errors import ModelError, StoreError
from assistant.events import Event, MemoriesCounted, MemoriesRead, MemoryUsed, ProfileChanged
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.curator import LOOKED_AT_AGAIN, CurationPolicy, Curator
from assistant.memory.curation.materialize import materialize_all, rebuild_rows
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.memory import Memory
from assistant.memory.retrieval.document_expansion import ExpansionWeights, expansions
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.question import read_question
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.retrieval.vector_maintenance import (
    AT_ONCE,
    BY_THE_WAY,
    QuickVectors,
    StrongVectors,
    TierRefresh,
)
from assistant.memory.retrieval.vectors.kernels import COMPILED
from assistant.memory.retrieval.vectors.tiers import Tiers
from assistant.memory.store.maintenance import in_order
from assistant.memory.store.table import MemoryTable
from assistant.memory.store.write_priority import WriterThread
from assistant.memory.store.write_queue import WriteQueue
from assistant.memory.transcript.database import Transcript

UNMERGED = 1_000
"""If there are more new memories than this, they are merged into the lexical index's matrix."""


class IndexSync:
    """Reads, writes and indexes one user's memories, on one thread except where noted.

    Args:
        tell: receives events. Any thread may call it.
        try_later: schedules another `read` after the given number of seconds.
    """

    def __init__(
        self,
        user_id: str,
        open_table: Callable[[], MemoryTable],
        encoder: QueryEncoder,
        lexicon: TextAnalyzer,
        tiers: Tiers,
        policy: CurationPolicy,
        tell: Callable[[Event], None],
        try_later: Callable[[float], None],
        enrichment: ExpansionWeights,
        close_table: Callable[[MemoryTable], None],
        writing: WriterThread,
    ) -> None:
        self.store = WriteQueue(open_table, close_table, tell, try_later)
        self.index: UserIndex | None = None
        """None until the store has been read. Any thread may read this attribute."""
        self.upkeep = Curator(user_id, lexicon, policy, encoder.forget)
        self.stronger = StrongVectors(encoder, self.store, lambda: self.index, writing, tell)
        self._user_id = user_id
        self._encoder = encoder
        self._lexicon = lexicon
        self._lifetimes = policy.lifetimes
        self._enrichment = enrichment
        self._ageing = TierRefresh(tiers)
        self._tell = tell
        self._taking_in = threading.Lock()
        self._quick = QuickVectors(encoder, self.store, self._taking_in, self._settle)
        self._transcript: Transcript | None = None
        self._first: Callable[[MemoryTable], None] = lambda _: None
        self._profile: tuple[MemoryUsed, ...] = ()
        self._reported_count: int | None = None
        self._hidden: dict[str, HiddenItems] = {}
        self._hidden_changed = 0
        """Number of times that `_hidden` has changed."""

    # -- from any thread ------------------------------------------------------------------------

    def opened(self) -> tuple[MemoryTable, UserIndex]:
        """Return the table and the index. Raises StoreError if they are not open or loaded yet."""
        if self.store.table is None or self.index is None:
            raise self.store.why()
        return self.store.table, self.index

    def take_in(self, memories: Iterable[Memory]) -> bool:
        """Index new memories, and queue them for the store; return whether any were new. If there
        is no index yet, do nothing: `read` will create them from the transcript."""
        memories = self.store.kept(memories)
        with self._taking_in:
            index = self.index
            new = [each for each in memories if each.id not in index] if index is not None else []
            if index is None or not new:
                return False
            index.add(new)
            if self.store.table is not None or self._transcript is None:
                self.store.wait(new)
        self.upkeep.told(memory.id for memory in new)
        self._tell_changes()
        return True

    def hide(self, items: HiddenItems) -> None:
        """Exclude these items from recall."""
        self._set_hidden(items.id, items)

    def unhide(self, items: HiddenItems) -> None:
        """Undo `hide`. Items that another request hides stay hidden."""
        self._set_hidden(items.id, None)

    def _set_hidden(self, key: str, items: HiddenItems | None) -> None:
        with self._taking_in:
            self._hidden.pop(key, None)
            if items is not None:
                self._hidden[key] = items
            self._hidden_changed += 1
            if self.index is not None:
                self._hide_in(self.index)
        self._tell_changes()

    # -- reading --------------------------------------------------------------------------------

    def load(
        self, transcript: Transcript | None, first: Callable[[MemoryTable], None] = lambda _: None
    ) -> None:
        """Load the encoder and read the store. Reports errors from either instead of raising them.

        Args:
            first: called with the table before anything is read. May raise StoreError.
        """
        try:
            self._encoder.load()
        except ModelError as error:
            self.store.tell(error)
            return
        # Load the word lists now, not in the first recall.
        question = read_question("What did I say today?", ())
        self._empty_index().search(question, None, k=1, now=datetime.now(UTC))
        self._transcript = transcript
        self._first = first
        self.read()

    def read(self) -> None:
        """Read the store if possible, then the exchanges that only the transcript has."""
        try:
            self._hide_noted()
        except StoreError as error:  # recall nothing rather than hidden items
            self.store.failed(error)
            return
        opened = self.store.open()
        if not opened and self.index is not None:
            self.store.flush()
            return
        if opened:
            self.store.first(self._first)
            self._encoder.clear()  # another machine may have forgotten cached texts
        index = self._empty_index()
        whole = opened and self._fill(index)
        if not whole and self.index is not None:
            return
        self._take_up(index)

    def replace(self, broken: UserIndex) -> None:
        """Replace a failing index with a new one read from the store. Doesn't raise."""
        if self.index is not broken:
            return
        index = self._empty_index()
        if self._fill(index):
            self._take_up(index)

    def _fill(self, index: UserIndex) -> bool:
        """Load all memories into a new index; return whether the store could be read."""

        def load(table: MemoryTable) -> None:
            name = self._encoder.name
            if table.refused is None:
                table.add_encoder(name, self._encoder.dimensions)
            vectors = (name,) if name in table.encoders() else ()
            index.load(table.scan(self._user_id, vectors=vectors), name if vectors else None)
            marks = table.forgotten.of(self._user_id)
            if marks.unfinished:  # another machine has not finished removing these
                index.remove([key for key, each in index.outlines().items() if marks.covers(each)])
                index.purge()

        unwritten = self.store.read(load, lambda key: key in index)
        if unwritten is not None:
            index.add(unwritten)
        return unwritten is not None

    def _take_up(self, index: UserIndex) -> None:
        with self._taking_in:
            self._hide_in(index)
            self.index = index
        self._catch_up(index)
        self.enrich()
        self._reported_count = index.shown
        self._tell(MemoriesRead(self._reported_count))
        self._tell_changes()
        self.stronger.attach(index)

    def _hide_noted(self) -> None:
        """Hide the items that earlier sessions hid. `hide` and `unhide` don't wait for this; if
        either was called meanwhile, the transcript is read again."""
        while self._transcript is not None:
            before = self._hidden_changed
            noted = {hidden.id: hidden for hidden in self._transcript.hidden(self._user_id)}
            with self._taking_in:
                if before == self._hidden_changed:
                    self._hidden |= noted
                    return

    def _catch_up(self, index: UserIndex) -> None:
        """Create the memories of exchanges that only the transcript has."""
        if self._transcript is None:
            return
        now, known = datetime.now(UTC), index.sources()
        try:
            missing = materialize_all(self._user_id, self._transcript, now, beyond=known)
        except StoreError as error:
            self.store.tell(error)
            return
        self.upkeep.told(index.newest(LOOKED_AT_AGAIN))
        for at in range(0, len(missing), AT_ONCE):  # in batches, so that `hide` never waits long
            self.take_in(missing[at : at + AT_ONCE])
        self.store.flush()

    # -- what is new ----------------------------------------------------------------------------

    def embed_some(self) -> bool:
        """Create vectors for the newest memories that lack one. Doesn't raise. Returns whether
        others may still lack one, e.g. after a change of encoder."""
        if self.index is None:
            return False
        return not self._quick.fill(self.index, AT_ONCE, AT_ONCE)

    def enrich(self, exchanges: Collection[str] | None = None) -> None:
        """Index the expansions derived from these exchanges (default: all). Doesn't raise."""
        if self.index is not None and self._transcript is not None:
            self._enrich(self.index, self._transcript, exchanges)

    def _enrich(
        self, index: UserIndex, transcript: Transcript, exchanges: Collection[str] | None = None
    ) -> None:
        if not self._enrichment:
            return
        try:
            found = expansions(transcript, self._user_id, self._encoder.name, exchanges)
        except StoreError as error:
            self.store.tell(error)
            return
        index.enrich(found)

    def untidy(self, unmerged: int) -> bool:
        """Whether `tidy` should be called to merge new memories, compile search loops or compact
        the store. Any thread may call this."""
        index, table = self.index, self.store.table
        if index is None or table is None:
            return False
        slow = COMPILED.wanted(len(index)) or index.unmerged > unmerged
        return slow or table.wants_compaction(in_silence=True)

    def tidy(self, unmerged: int = UNMERGED, *, in_silence: bool = False) -> None:
        """Merge, compile, expire and compact as needed. Neither recall nor speech waits for it."""
        index = self.index
        if index is None:
            return
        if in_silence and COMPILED.wanted(len(index)):
            COMPILED.load()
        if index.unmerged > unmerged:
            index.tidy()
        if self.upkeep.due():
            sweep = partial(self.upkeep.sweep, index, self._transcript)
            self.store.write(sweep, proves=False)
            self._tell_changes()
        if self._ageing.due(index):
            self.store.write(partial(self._ageing.run, index, self.stronger.chosen))
        table = self.store.table
        if table is not None and table.wants_compaction(in_silence=in_silence):
            self.store.write(MemoryTable.compact)

    # -- for user interfaces; these raise StoreError ----------------------------------------------

    def put(self, memories: Sequence[Memory]) -> None:
        """Store new memories, or replace those with the same ids. Each id may occur only once."""
        table, index = self.opened()
        table.put(memories)
        memories = self.store.kept(memories)  # some may have been forgotten by now
        others = [each for each in memories if index.saying([each.id], [each.text]) == []]
        for memory in memories:
            if memory.id in index:
                index.update(memory)
        index.add([memory for memory in memories if memory.id not in index])
        self._tell_changes()
        if others:  # only these need new vectors
            self._quick.fill(index, BY_THE_WAY, max(BY_THE_WAY, len(others)))

    def change(self, ids: Sequence[str], how: Callable[[Memory], Memory]) -> list[Memory]:
        """Apply `how` to the memories with these ids that exist; return their new versions."""
        table, _ = self.opened()
        before = table.get(self._user_id, ids)
        after = [how(memory) for memory in before]
        self.put(after)
        self._encoder.forget(
            old.text for old, new in zip(before, after, strict=True) if old.text != new.text
        )
        return self.store.kept(after)

    def count_use(self, ids: Sequence[str], at: datetime) -> None:
        """Record that these memories were used at the time `at`. Doesn't raise."""
        try:
            known = self.upkeep.standing(ids)
            self.change(known, lambda old: replace(old, uses=old.uses + 1, last_used=at))
        except StoreError as error:
            self.store.tell(error)

    def delete(self, memories: Sequence[Memory]) -> None:
        """Delete memories from the table, from recall and from caches."""
        ids = [memory.id for memory in memories]
        texts = {memory.text for memory in memories}
        table, index = self.opened()
        try:
            table.delete(self._user_id, ids)
        except StoreError:  # the deletion may have happened nonetheless
            if table.get(self._user_id, ids):
                raise
        self.store.discard(ids)
        index.remove(ids)
        self._encoder.forget(texts)
        self._tell_changes()

    def rebuild(self, transcript: Transcript) -> int:
        """Derive all memories again; return their number. Call `take_in_rest` afterwards, because
        memories that arrive meanwhile are only in the old index and the write queue."""
        table, _ = self.opened()
        self.store.flush()
        made = self.store.kept(materialize_all(self._user_id, transcript, datetime.now(UTC)))
        self.upkeep.told(rebuild_rows(table, self._user_id, made))
        self.store.may_have(memory.id for memory in made)
        self._encoder.clear()
        index = self._empty_index()
        index.add(in_order(table, self._user_id))
        self._enrich(index, transcript)
        self._quick.fill(index, BY_THE_WAY)
        with self._taking_in:
            self._hide_in(index)
            self.index = index
        self.stronger.anew()
        self.stronger.attach(index)
        return len(index)

    def take_in_rest(self) -> None:
        """Index the memories that are only in the table. Doesn't raise."""
        try:
            table, index = self.opened()
            rest = [each for each in in_order(table, self._user_id) if each.id not in index]
        except StoreError as error:
            self.store.tell(error)
            return
        index.add(rest)
        self._quick.fill(index, AT_ONCE)

    # -- inside ---------------------------------------------------------------------------------

    def _empty_index(self) -> UserIndex:
        return UserIndex(
            self._user_id,
            self._lexicon,
            self._encoder.dimensions,
            Ranking(),
            self._lifetimes,
            self._enrichment,
        )

    def _settle(self, index: UserIndex) -> None:
        """Compare new memories with older ones, now that all have vectors."""
        self.store.write(partial(self.upkeep.settle, index), proves=False)
        self._tell_changes()

    def _hide_in(self, index: UserIndex) -> None:
        """Hide all hidden items in an index."""
        hidden = tuple(self._hidden.values())  # the event loop may add to it
        exchanges = {exchange for each in hidden for exchange in each.exchanges}
        index.hide(exchanges, {memory for each in hidden for memory in each.memories})

    def _tell_changes(self) -> None:
        """Emit an event if the profile or the number of memories has changed."""
        index, before = self.index, self._profile
        self._profile = index.profile if index is not None else ()
        if self._profile != before:
            self._tell(ProfileChanged(len(self._profile)))
        reported = self._reported_count
        if reported is not None and index is not None and index.shown != reported:
            self._reported_count = index.shown
            self._tell(MemoriesCounted(self._reported_count))
