"""One user's memories on their way into RAM, onto the disk and back: the work of the thread that
writes."""

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from assistant.context import Note
from assistant.errors import ModelError, StoreError
from assistant.events import Event, MemoriesCounted, MemoriesRead, ProfileChanged
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.curator import LOOKED_AT_AGAIN, CurationPolicy, Curator
from assistant.memory.curation.materialize import Transcript, materialize_all
from assistant.memory.curation.rebuild import rebuild_rows
from assistant.memory.records import serialization
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.memory import Memory
from assistant.memory.retrieval.document_expansion import ExpansionWeights
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.retrieval.stored_expansions import extras
from assistant.memory.retrieval.strong_encoder import Strengthening
from assistant.memory.retrieval.strong_vectors import Stronger
from assistant.memory.retrieval.tier_refresh import TierRefresh
from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.retrieval.vector_backfill import AT_ONCE, BY_THE_WAY, Embedder
from assistant.memory.retrieval.vectors.kernels import COMPILED
from assistant.memory.retrieval.vectors.tiers import Tiers
from assistant.memory.store.maintenance import in_order
from assistant.memory.store.table import MemoryTable
from assistant.memory.store.write_priority import WriterThread
from assistant.memory.store.write_queue import WriteQueue

UNMERGED = 1_000
"""New memories that recall goes through one by one, before they are folded into the large index."""


class IndexSync:
    """All of it runs on one thread, but for what says otherwise.

    Args:
        tell: told of what happens; any thread may call it.
        try_later: has `read` called after so many seconds.
    """

    def __init__(
        self,
        user_id: str,
        open_table: Callable[[], MemoryTable],
        encoder: QueryEncoder,
        lexicon: TextAnalyzer,
        ranking: Ranking,
        tiers: Tiers,
        policy: CurationPolicy,
        tell: Callable[[Event], None],
        try_later: Callable[[float], None],
        enrichment: ExpansionWeights,
        close_table: Callable[[MemoryTable], None],
    ) -> None:
        self.store = WriteQueue(open_table, close_table, tell, try_later)
        self.index: UserIndex | None = None
        """None until the store was read. Any thread."""
        self.upkeep = Curator(user_id, lexicon, policy, encoder.forget)
        self.stronger = Stronger(user_id, encoder, self.store, tell)
        self._user_id = user_id
        self._encoder = encoder
        self._lexicon = lexicon
        self._ranking = ranking
        self._lifetimes = policy.lifetimes
        self._enrichment = enrichment
        self._ageing = TierRefresh(tiers)
        self._tell = tell
        self._taking_in = threading.Lock()
        self._embedder = Embedder(user_id, encoder, self.store, self._taking_in, self._settle)
        self._transcript: Transcript | None = None
        self._first: Callable[[MemoryTable], None] = lambda _: None
        self._profile: tuple[Note, ...] = ()
        self._told_count: int | None = None
        self._hidden: dict[str, HiddenItems] = {}
        self._hidden_changed = 0
        """How often."""

    # -- from any thread ------------------------------------------------------------------------

    def opened(self) -> tuple[MemoryTable, UserIndex]:
        """Raises StoreError: it could not be opened, or is still being read."""
        if self.store.table is None or self.index is None:
            raise self.store.why()
        return self.store.table, self.index

    def profile(self) -> tuple[Note, ...]:
        """What is always in the prompt; the same tuple until it changes."""
        return self.index.profile if self.index is not None else ()

    def take_in(self, memories: Iterable[Memory]) -> bool:
        """Into RAM, and on the way to the store, what is not there yet; says whether there was any.
        Without an index the transcript has them, and `read` reads that last."""
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
        """Nothing of it is recalled from now on."""
        with self._taking_in:
            self._hidden[items.id] = items
            self._hidden_changed += 1
            if self.index is not None:
                self._hide_in(self.index)
        self._tell_changes()

    def unhide(self, items: HiddenItems) -> None:
        """It is recalled again, unless something else hides it."""
        with self._taking_in:
            self._hidden.pop(items.id, None)
            self._hidden_changed += 1
            if self.index is not None:
                self._hide_in(self.index)
        self._tell_changes()

    # -- reading --------------------------------------------------------------------------------

    def load(
        self, transcript: Transcript | None, first: Callable[[MemoryTable], None] = lambda _: None
    ) -> None:
        """Never raises for the store or the encoder.

        Args:
            first: done with the table before anything of it is read; may raise StoreError.
        """
        try:
            self._encoder.load()
        except ModelError as error:
            self.store.tell(error)
            return
        self._lexicon.content("")  # its lists are read here, and not by the first recall
        self._transcript = transcript
        self._first = first
        self.read()

    def read(self) -> None:
        """What the store has, if it can be had, and what the transcript has beyond it."""
        try:
            self._hide_noted()
        except StoreError as error:  # better nothing is recalled than what is to be forgotten
            self.store.failed(error)
            return
        opened = self.store.open()
        if not opened and self.index is not None:
            self.store.flush()
            return
        if opened:
            self.store.first(self._first)
            self._encoder.clear()  # what another machine forgot may be among it
        index = self._empty_index()
        whole = opened and self.store.read(index, self._encoder.name, self._encoder.dimensions)
        if not whole and self.index is not None:
            return
        self._take_up(index)

    def mend(self, broken: UserIndex) -> None:
        """That index fails: another one is made of what the store has. Doesn't raise."""
        if self.index is not broken:
            return
        index = self._empty_index()
        if self.store.read(index, self._encoder.name, self._encoder.dimensions):
            self._take_up(index)

    def _take_up(self, index: UserIndex) -> None:
        with self._taking_in:
            self._hide_in(index)
            self.index = index
        self._catch_up(index)
        self.enrich()
        self._told_count = index.shown
        self._tell(MemoriesRead(self._told_count))
        self._tell_changes()
        self.stronger.attach(index)

    def strengthening(self, writing: WriterThread) -> Strengthening:
        """The stronger encoder, as the rest of the program calls it."""
        return Strengthening(
            self._encoder, self.stronger, lambda: self.index, self.strengthen, writing
        )

    def strengthen(self) -> None:
        """The stronger encoder serves from now on, if there is one. Doesn't raise."""
        if self.index is not None:
            self.stronger.begin(self.index)

    def _hide_noted(self) -> None:
        """What an earlier session began to forget. Who forgets or takes that back meanwhile does
        not wait for the disk: it is read again then."""
        while self._transcript is not None:
            before = self._hidden_changed
            noted = {hidden.id: hidden for hidden in self._transcript.hidden(self._user_id)}
            with self._taking_in:
                if before == self._hidden_changed:
                    self._hidden |= noted
                    return

    def _catch_up(self, index: UserIndex) -> None:
        """Make memories of what the transcript has and the table has not."""
        if self._transcript is None:
            return
        now, known = datetime.now(UTC), index.sources()
        try:
            missing = materialize_all(self._user_id, self._transcript, now, beyond=known)
        except StoreError as error:
            self.store.tell(error)
            return
        self.upkeep.told(index.newest(LOOKED_AT_AGAIN))
        for at in range(0, len(missing), AT_ONCE):  # who forgets waits for so many
            self.take_in(missing[at : at + AT_ONCE])
        self.store.flush()

    # -- what is new ----------------------------------------------------------------------------

    def embed_some(self) -> bool:
        """Vectors for the newest that have none; says whether others wait. After an encoder was
        changed that is all of them. Doesn't raise."""
        if self.index is None:
            return False
        return not self._embedder.run(self.index, AT_ONCE, AT_ONCE)

    def enrich(self, exchanges: Collection[str] | None = None) -> None:
        """Take up what was made of these, or of all. Doesn't raise."""
        if self.index is not None and self._transcript is not None:
            self._enrich(self.index, self._transcript, exchanges)

    def _enrich(
        self, index: UserIndex, transcript: Transcript, exchanges: Collection[str] | None = None
    ) -> None:
        if not (self._enrichment.by_words or self._enrichment.by_meaning):
            return
        try:
            found = extras(transcript, self._user_id, self._encoder.name, exchanges)
        except StoreError as error:
            self.store.tell(error)
            return
        index.enrich(found)

    def untidy(self, unmerged: int) -> bool:
        """So many new memories are gone through one by one, or the loops of a search are worth
        compiling, or the store wants to be compacted. Any thread."""
        index, table = self.index, self.store.table
        if index is None or table is None:
            return False
        slow = COMPILED.wanted(len(index)) or index.unmerged > unmerged
        return slow or table.wants_compaction(in_silence=True)

    def tidy(self, unmerged: int = UNMERGED, *, in_silence: bool = False) -> None:
        """Now and then; neither recall nor the voice waits for it."""
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

    # -- what a face asks for; these raise StoreError -------------------------------------------

    def put(self, memories: Sequence[Memory]) -> None:
        """New ones, or others in place of those with their ids, none twice."""
        table, index = self.opened()
        table.import_(serialization.to_json(memory) for memory in memories)
        memories = self.store.kept(memories)  # now: it may have waited for somebody to be silent
        others = [each for each in memories if index.saying([each.id], [each.text]) == []]
        for memory in memories:
            if memory.id in index:
                index.update(memory)
        index.add([memory for memory in memories if memory.id not in index])
        self._tell_changes()
        if others:  # those that only have other marks keep their vectors
            self._embedder.run(index, BY_THE_WAY, max(BY_THE_WAY, len(others)))

    def change(self, ids: Sequence[str], how: Callable[[Memory], Memory]) -> list[Memory]:
        """Replace those that are there; returns what they are now."""
        table, _ = self.opened()
        before = table.get(self._user_id, ids)
        after = [how(memory) for memory in before]
        self.put(after)
        self._encoder.forget(
            old.text for old, new in zip(before, after, strict=True) if old.text != new.text
        )
        return self.store.kept(after)

    def count_use(self, ids: Sequence[str], at: datetime) -> None:
        """Doesn't raise."""
        try:
            known = self.upkeep.standing(ids)
            self.change(known, lambda old: replace(old, uses=old.uses + 1, last_used=at))
        except StoreError as error:
            self.store.tell(error)

    def delete(self, memories: Sequence[Memory]) -> None:
        """Out of recall, the caches and the table."""
        ids = [memory.id for memory in memories]
        texts = {memory.text for memory in memories}
        table, index = self.opened()
        try:
            table.delete(self._user_id, ids)
        except StoreError:  # of a change that failed nobody knows whether it arrived all the same
            if table.get(self._user_id, ids):
                raise
        self.store.discard(ids)
        index.remove(ids)
        self._encoder.forget(texts)
        self._tell_changes()

    def rebuild(self, transcript: Transcript) -> int:
        """Make all anew; what is remembered meanwhile goes to the old index and waits to be
        written: call `take_in_rest` afterwards."""
        table, _ = self.opened()
        self.store.flush()
        made = self.store.kept(materialize_all(self._user_id, transcript, datetime.now(UTC)))
        self.upkeep.told(rebuild_rows(table, self._user_id, made))
        self.store.may_have(memory.id for memory in made)
        self._encoder.clear()
        index = self._empty_index()
        index.add(in_order(table, self._user_id))
        self._enrich(index, transcript)
        self._embedder.run(index, BY_THE_WAY)
        with self._taking_in:
            self._hide_in(index)
            self.index = index
        self.stronger.anew()
        self.stronger.attach(index)
        return len(index)

    def take_in_rest(self) -> None:
        """What the table has and the index has not. Doesn't raise."""
        try:
            table, index = self.opened()
            rest = [each for each in in_order(table, self._user_id) if each.id not in index]
        except StoreError as error:
            self.store.tell(error)
            return
        index.add(rest)
        self._embedder.run(index, AT_ONCE)

    # -- inside ---------------------------------------------------------------------------------

    def _empty_index(self) -> UserIndex:
        dimensions, lifetimes = self._encoder.dimensions, self._lifetimes
        return UserIndex(
            self._user_id,
            self._lexicon,
            dimensions,
            self._ranking,
            lifetimes,
            self._enrichment,
        )

    def _settle(self, index: UserIndex) -> None:
        """All that is new has its vector: it is compared with what was there."""
        self.store.write(partial(self.upkeep.settle, index), proves=False)
        self._tell_changes()

    def _hide_in(self, index: UserIndex) -> None:
        """What is to be forgotten comes up in no index."""
        hidden = tuple(self._hidden.values())  # the loop may add to it
        exchanges = {exchange for each in hidden for exchange in each.exchanges}
        index.hide(exchanges, {memory for each in hidden for memory in each.memories})

    def _tell_changes(self) -> None:
        """Of the profile, which the model then reads while nobody waits, and of the count."""
        before, self._profile = self._profile, self.profile()
        if self._profile != before:
            self._tell(ProfileChanged(len(self._profile)))
        told, index = self._told_count, self.index
        if told is not None and index is not None and index.shown != told:
            self._told_count = index.shown
            self._tell(MemoriesCounted(self._told_count))
