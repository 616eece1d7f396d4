"""The rest of the program's interface to long-term memory.

    recall(query)        once per turn: return relevant memories within a deadline
    remember(exchange)   once per exchange: make the exchange searchable by its words
    settled()            between turns: wait until all memories are on disk and have vectors

A recall searches on the caller's thread. Other threads encode and write.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from assistant.context import Exchange
from assistant.errors import StoreError
from assistant.events import Event, MemoryUsed
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.curator import CurationPolicy
from assistant.memory.curation.materialize import materialize_exchange
from assistant.memory.index_sync import IndexSync
from assistant.memory.records.arrays import Vectors
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.memory import Memory
from assistant.memory.retrieval.deadline import SearchDeadline, SearchTimings
from assistant.memory.retrieval.document_expansion import ExpansionWeights
from assistant.memory.retrieval.encoding import LONGEST_QUERY, QueryEncoder
from assistant.memory.retrieval.index_repair import IndexRepair
from assistant.memory.retrieval.question import Earlier, read_question
from assistant.memory.retrieval.question_vectors import (
    DeadlineMisses,
    EncodedQuestion,
    QuestionEncoder,
    result,
)
from assistant.memory.retrieval.results import Recalled
from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.retrieval.vectors.tiers import Tiers
from assistant.memory.store.table import MemoryTable
from assistant.memory.store.write_priority import WriterThread, low_priority
from assistant.memory.store.write_queue import WriteQueue
from assistant.memory.transcript.database import Transcript

MOST = 12
"""Maximum number of memories returned by one recall. The prompt contains as many as fit."""
SEARCH_S = 0.003
"""Seconds of the deadline reserved for the search itself, until searches have been timed."""
RECENT = 3
"""Number of the user's newest statements to return if a search was cut short and found nothing."""

logger = logging.getLogger(__name__)


class UserMemory:
    """One user's memories.

    Args:
        open_table: opens the table of memories. It blocks and may raise StoreError.
        emit: called with a `Notice` when storing starts to fail, and when it works again.
        policy: which memories are merged and which expire; default: none.
        enrichment: the weights of document expansions; default: 0.
        close_table: releases the table that `open_table` returned.
    """

    def __init__(
        self,
        user_id: str,
        open_table: Callable[[], MemoryTable],
        encoder: QueryEncoder,
        lexicon: TextAnalyzer,
        emit: Callable[[Event], None],
        *,
        tiers: Tiers | None = None,
        policy: CurationPolicy | None = None,
        enrichment: ExpansionWeights | None = None,
        close_table: Callable[[MemoryTable], None] = MemoryTable.close,
    ) -> None:
        self.user_id = user_id
        self.policy = policy or CurationPolicy()
        self._encoder = encoder
        self._writing = WriterThread("memory-store")
        self._index_sync = IndexSync(
            user_id,
            open_table,
            encoder,
            lexicon,
            tiers or Tiers(),
            self.policy,
            partial(self._on_loop, emit),
            self._try_later,
            enrichment or ExpansionWeights(),
            close_table,
            self._writing,
        )
        strong = self._index_sync.stronger
        self.asking = QuestionEncoder(encoder, lexicon, self._speakers, lambda: strong.serving)
        self.writable = asyncio.Event()
        """Set once the store has been read, if this process may write to it."""
        self.strengthening = strong
        self._misses = DeadlineMisses(emit)
        self._pace = SearchTimings(SEARCH_S)
        self._repair = IndexRepair(self._replace_index)
        self._embedding_later = False
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- called on the event loop ---------------------------------------------------------------

    async def load(
        self, transcript: Transcript | None, first: Callable[[MemoryTable], None] = lambda _: None
    ) -> None:
        """Read the memories from the table, and add the exchanges that only the transcript has.
        Recall finds nothing until then, nor if the encoder can't be loaded.

        Errors are reported, not raised. If the store can't be read, new memories stay in RAM until
        it can. `first` is called with the table before anything is read; it may raise StoreError.
        """
        self._loop = asyncio.get_running_loop()
        load = partial(self._index_sync.load, transcript, first)
        await self._loop.run_in_executor(self._writing, self._reading, load)

    async def recall(
        self,
        query: str,
        deadline_s: float,
        exclude: Collection[str] = (),
        earlier: Sequence[Earlier] = (),
        *,
        draft: bool = False,
    ) -> Recalled:
        """Return the memories relevant to `query`. If the query's vector is late, search by words,
        and also by the vector of the words heard shortly before, if that vector exists.

        Args:
            exclude: ids of exchanges that are already in the prompt.
            earlier: the previous exchanges, newest last, to which the question may refer.
            draft: whether the user is still speaking. If so, late results are not counted.
        """
        index = self._index_sync.index
        if index is None:
            return Recalled(missed=True)
        due = time.monotonic() + deadline_s
        latest, last = due - self._pace.reserve(deadline_s), due - self._pace.least(deadline_s)
        asked = await self.asking.ask(query[-LONGEST_QUERY:], latest, earlier, last=last)
        limit = self._pace.limit(due)
        try:
            recalled = self._search(index, asked, exclude, limit=limit)
        except Exception:  # a broken index must never prevent the answer
            logger.exception("the memory index failed")
            self._repair.failed(index)
            if not draft:
                self._misses.count(by_words_alone=True)
            return Recalled(missed=True)
        self._repair.worked()
        if not draft:
            self._pace.over(limit)
            self._misses.count(asked.by_words_alone or limit.too_late)
        if recalled.missed and not recalled.memories:
            recent = index.recent(RECENT, exclude, datetime.now(UTC))
            return replace(recalled, memories=tuple(recent))
        return recalled

    def profile(self) -> tuple[MemoryUsed, ...]:
        """Return the notes that belong in every prompt. Repeated calls return the same tuple until
        a note changes. Thread-safe."""
        index = self._index_sync.index
        return index.profile if index is not None else ()

    def count(self) -> int:
        """Return the number of memories that have been read so far."""
        return len(self._index_sync.index or ())

    def remember(self, conversation: str, exchange: Exchange) -> None:
        """Add a complete exchange. It is on disk after `settled`. Quick; thread-safe."""
        try:
            if self._index_sync.take_in(materialize_exchange(self.user_id, conversation, exchange)):
                self._writing.post(self._keep)
                self._writing.post(self._index_sync.tidy)
        except Exception:  # a new index reads the exchange from the transcript
            logger.exception("the memory index failed")
            self._repair.failed(self._index_sync.index)

    def mark_used(self, ids: Collection[str], at: datetime) -> None:
        """Record that the prompt of an answered turn contained these memories."""
        if ids:
            self._writing.post(self._index_sync.count_use, list(ids), at)

    def hide(self, items: HiddenItems) -> None:
        """Leave these items out of every recall from now on. Quick; thread-safe."""
        self._index_sync.hide(items)

    def unhide(
        self, items: HiddenItems, exchanges: Sequence[tuple[str, Exchange]] = ()
    ) -> Sequence[Exchange]:
        """Undo `hide`, and add the exchanges if they had not been read yet."""
        self._index_sync.unhide(items)
        for conversation, exchange in exchanges:  # some may have been hidden before they were read
            self.remember(conversation, exchange)
        return ()

    def purged(self, items: HiddenItems, *, clean: bool) -> None:
        """React to the deletion of the items from disk. If traces of them were found (`clean` is
        False), the items stay hidden until the program ends."""
        if clean:
            self._index_sync.unhide(items)
        self.forget_questions()

    def forget_questions(self) -> None:
        """Drop the vectors of earlier questions."""
        self._encoder.forget_queries()

    def written(self) -> None:
        """Block until all memories are in the store. Don't call this on the event loop. Raises
        StoreError if they can't be stored."""
        self._writing.submit(self._index_sync.store.flush).result()
        if not self.store.settled:
            raise self.store.why()

    def give_way(self, somebody: Callable[[], bool]) -> None:
        """Make low-priority writes wait while `somebody()` is true, which means that someone may be
        speaking. `somebody` is called in another thread."""
        self._writing.somebody = somebody

    async def settled(self) -> None:
        """Wait until all memories are on disk and have their vectors."""
        await asyncio.get_running_loop().run_in_executor(self._writing, lambda: None)

    def untidy(self, unmerged: int) -> bool:
        """Whether there is work for `tidy`, e.g. more than `unmerged` unmerged memories."""
        return self._index_sync.untidy(unmerged)

    async def tidy(self, unmerged: int) -> None:
        """Merge new memories and small writes, even if the caller is cancelled meanwhile."""
        tidy = partial(self._index_sync.tidy, unmerged, in_silence=True)
        await asyncio.get_running_loop().run_in_executor(self._writing, tidy)

    async def close(self) -> None:
        """Stop the threads and close the store. Idempotent."""
        await asyncio.to_thread(self.shut_down)

    def shut_down(self) -> None:
        """Like `close`, but blocking."""
        self._writing.shutdown()
        self._encoder.close()
        self.store.close()

    # -- for user interfaces; these block, and may be called from any thread but the loop's -------

    @property
    def store(self) -> WriteQueue:
        """The store of memories on disk. Use only its properties."""
        return self._index_sync.store

    @property
    def table(self) -> MemoryTable:
        """The open table. Raises StoreError if it could not be opened or is still loading."""
        return self._index_sync.opened()[0]

    @property
    def index(self) -> UserIndex:
        """The user's index. Raises StoreError if it is still loading."""
        return self._index_sync.opened()[1]

    def find(self, query: str, k: int = MOST, *, both: bool = False) -> Recalled:
        """Return up to `k` memories relevant to `query`, without a deadline.

        Args:
            both: load and use the stronger encoder too. If False, the scores can be compared with
                thresholds measured with the fast encoder.
        """
        _, index = self._index_sync.opened()
        if both:
            self.strengthening.begin().result()
        question = read_question(query[-LONGEST_QUERY:], index.speakers())
        vector = result(self._encoder.submit(question.meaning), wait=True)
        stronger = self.strengthening.serving if both else None
        better = result(stronger.submit(question.meaning), wait=True) if stronger else None
        late = vector is None and better is None
        return self._search(index, EncodedQuestion(question, vector, late, better), k=k)

    def put(self, memories: Sequence[Memory], *, told: bool = False) -> list[str]:
        """Store memories in place of any with the same ids. They are on disk when this returns.
        Return their ids, which differ from the given ones where memories were merged.

        Args:
            told: treat the memories as new statements by the user. They then refresh memories with
                the same meaning and supersede memories that are no longer true.

        Raises:
            StoreError: writing failed; nothing has changed.
        """
        upkeep = self._index_sync.upkeep
        upkeep.told(memory.id for memory in memories if told)
        self._writing.submit(self._index_sync.put, memories).result()
        return upkeep.standing(memory.id for memory in memories)

    def change(self, ids: Sequence[str], how: Callable[[Memory], Memory]) -> list[Memory]:
        """Apply `how` to the existing memories with these ids. Return the new versions. Raises
        StoreError if writing failed."""
        return self._writing.submit(self._index_sync.change, ids, how).result()

    def delete(self, memories: Sequence[Memory]) -> None:
        """Delete memories from the index, the caches and the table before returning. Raises
        StoreError if writing failed."""
        self._writing.submit(self._index_sync.delete, memories).result()

    @property
    def encoder(self) -> str:
        """Name of the encoder whose vectors are used."""
        return self._encoder.name

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Encode texts without caching anything. Takes 5 ms per text. Raises ModelFailed."""
        return self._encoder.encode_apart(texts)

    def enrich(self, exchanges: Collection[str]) -> None:
        """Make the results of idle work on these exchanges searchable, in the background."""
        self._writing.post(self._index_sync.enrich, exchanges)

    def rebuild(self, transcript: Transcript) -> int:
        """Rebuild all memories from the transcript; return their number. Meanwhile, recall uses the
        old index. Raises StoreError if this fails; it can then be called again."""
        count = self._writing.submit(self._index_sync.rebuild, transcript).result()
        self._writing.post(self._index_sync.take_in_rest)
        self._writing.post(self._index_sync.tidy)
        return count

    def _search(
        self,
        index: UserIndex,
        asked: EncodedQuestion,
        exclude: Collection[str] = (),
        k: int = MOST,
        limit: SearchDeadline | None = None,
    ) -> Recalled:
        """Search the index. Takes a few milliseconds."""
        found = index.search(
            asked.question,
            asked.vector,
            stronger=asked.stronger,
            k=k,
            now=datetime.now(UTC),
            exclude=exclude,
            limit=limit,
        )
        late = limit is not None and limit.too_late
        brief = limit is not None and limit.brief
        return Recalled(tuple(found), asked.late or late, asked.stand_in and not late, brief)

    # -- inside ---------------------------------------------------------------------------------

    def _speakers(self) -> frozenset[str]:
        return index.speakers() if (index := self._index_sync.index) is not None else frozenset()

    def _reading(self, read: Callable[[], None]) -> None:
        """Call `read`, then encode the memories. Runs on the writer thread. Errors are logged but
        not raised, so that the conversation goes on."""
        try:
            read()
            if self.store.writes:
                self._on_loop(self.writable.set)
            self._embed_rest()
            self._index_sync.tidy()
        except Exception:
            logger.exception("the memories can't be read")
            self.store.close()  # never write to a store that was only half read
            self.store.failed(StoreError("The memories can't be read; the reason is in the log."))

    def _replace_index(self, index: UserIndex) -> None:
        self._writing.post(self._reading, partial(self._index_sync.replace, index))

    def _keep(self) -> None:
        self.store.flush()
        self._embed_rest()

    def _embed_rest(self, *, again: bool = False) -> None:
        """Encode the newest memories now, and the others while nobody is speaking. Runs on the
        writer thread."""
        self._embedding_later = self._embedding_later and not again
        if self._index_sync.embed_some() and not self._embedding_later:
            self._embedding_later = True
            with suppress(RuntimeError), low_priority():  # closed meanwhile
                self._writing.post(self._embed_rest, again=True)

    def _try_later(self, seconds: float) -> None:
        """Schedule another attempt to read the table. Called on the writer thread."""
        if self._loop is not None:
            self._on_loop(self._loop.call_later, seconds, self._try_again)

    def _try_again(self) -> None:
        with suppress(RuntimeError):  # closed meanwhile
            self._writing.post(self._reading, self._index_sync.read)

    def _on_loop(self, do: Callable[..., object], *args: object) -> None:
        """Call `do` on the event loop, unless the loop is closed. May be called on any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(do, *args)
