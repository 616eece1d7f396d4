"""Long-term memory as the rest of the program calls it.

    recall(query)        once a turn: what matters for it, within a deadline
    remember(exchange)   once an exchange: found by its words when this returns
    settled()            between turns: all is on the disk, and has its vectors

A recall searches on the caller's thread; others encode and write.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from assistant.context import Exchange, Note
from assistant.errors import StoreError
from assistant.events import Event
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.curator import CurationPolicy
from assistant.memory.curation.materialize import Transcript, materialize_exchange
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
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.retrieval.results import Recalled
from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.retrieval.vectors.tiers import Tiers
from assistant.memory.store.table import MemoryTable
from assistant.memory.store.write_priority import WriterThread, low_priority
from assistant.memory.store.write_queue import WriteQueue

MOST = 12
"""Memories of one recall, of which the prompt takes what it has room for."""
SEARCH_S = 0.003
"""Kept of the deadline for the search itself, to begin with."""
RECENT = 3
"""Newest memories that are recalled where there was time for words alone, and none has them."""

logger = logging.getLogger(__name__)


class UserMemory:
    """One user's memories.

    Args:
        open_table: blocking; may raise StoreError.
        emit: told by a `Notice` when storing begins to fail, and when it works again.
        policy: what is merged, and what expires; default: nothing by itself.
        enrichment: what counts of what idle work has made; default: nothing.
        close_table: lets go of what `open_table` gave.
    """

    def __init__(
        self,
        user_id: str,
        open_table: Callable[[], MemoryTable],
        encoder: QueryEncoder,
        lexicon: TextAnalyzer,
        ranking: Ranking,
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
        self._emit = emit
        self._keeper = IndexSync(
            user_id,
            open_table,
            encoder,
            lexicon,
            ranking,
            tiers or Tiers(),
            self.policy,
            self._tell_later,
            self._try_later,
            enrichment or ExpansionWeights(),
            close_table,
        )
        self.asking = QuestionEncoder(encoder, lexicon, self._speakers, self._stronger)
        self.writable = asyncio.Event()
        """Set once the store was read and is this assistant's to write."""
        self._writing = WriterThread("memory-store")
        self.strengthening = self._keeper.strengthening(self._writing)
        self._misses = DeadlineMisses(emit)
        self._pace = SearchTimings(SEARCH_S)
        self._mending = IndexRepair(self._remake)
        self._embedding_later = False
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- what the loop calls --------------------------------------------------------------------

    async def load(
        self, transcript: Transcript | None, first: Callable[[MemoryTable], None] = lambda _: None
    ) -> None:
        """Read the table and what the transcript has beyond it. Recall finds nothing until then.

        Never raises for the store or the encoder: without them memory lives in RAM for now.
        `first` is done with the table before anything of it is read; it may raise StoreError.
        """
        self._loop = asyncio.get_running_loop()
        load = partial(self._keeper.load, transcript, first)
        await self._loop.run_in_executor(self._writing, self._reading, load)

    async def recall(
        self,
        query: str,
        deadline_s: float,
        exclude: Collection[str] = (),
        earlier: Sequence[Earlier] = (),
    ) -> Recalled:
        """What matters for `query`; past the deadline what the words alone say, or the meaning of
        what was heard of it shortly before.

        Args:
            exclude: ids of exchanges that the prompt holds anyway.
            earlier: what was said before, newest last: a question may lean on it.
        """
        index = self._keeper.index
        if index is None:
            return Recalled(missed=True)
        due = time.monotonic() + deadline_s
        asked = await self.asking.ask(
            query[-LONGEST_QUERY:],
            due - self._pace.reserve(deadline_s),
            earlier,
            last=due - self._pace.least(deadline_s),
        )
        limit = self._pace.limit(due)
        try:
            recalled = self._search(index, asked, exclude, limit=limit)
        except Exception:  # whatever is wrong with the index costs memories, never the answer
            logger.exception("the index of memories fails")
            self._mending.failed(index)
            self._misses.count(by_words_alone=True)
            return Recalled(missed=True)
        self._mending.worked()
        self._pace.over(limit)
        self._misses.count(asked.by_words_alone or limit.too_late)
        if recalled.missed and not recalled.memories:
            recent = index.recent(RECENT, exclude, datetime.now(UTC))
            return replace(recalled, memories=tuple(recent))
        return recalled

    def profile(self) -> tuple[Note, ...]:
        """What is always in the prompt; the same tuple until it changes. Any thread."""
        return self._keeper.profile()

    def count(self) -> int:
        """How many there are, as far as they are read."""
        return len(self._keeper.index or ())

    def remember(self, conversation: str, exchange: Exchange) -> None:
        """Take in a complete exchange. Quick; any thread. It is on the disk after `settled`."""
        try:
            if self._keeper.take_in(materialize_exchange(self.user_id, conversation, exchange)):
                self._writing.post(self._keep)
                self._writing.post(self._keeper.tidy)
        except Exception:  # the transcript has it, from which a new index is caught up
            logger.exception("the index of memories fails")
            self._mending.failed(self._keeper.index)

    def mark_used(self, ids: Collection[str], at: datetime) -> None:
        """These memories were in a prompt that was answered."""
        if ids:
            self._writing.post(self._keeper.count_use, list(ids), at)

    def hide(self, items: HiddenItems) -> None:
        """Nothing of this is recalled from now on. Quick; any thread."""
        self._keeper.hide(items)

    def unhide(
        self, items: HiddenItems, exchanges: Sequence[tuple[str, Exchange]] = ()
    ) -> Sequence[Exchange]:
        """The user took that back."""
        self._keeper.unhide(items)
        for conversation, exchange in exchanges:  # some may have been hidden before it was read
            self.remember(conversation, exchange)
        return ()

    def purged(self, items: HiddenItems, *, clean: bool) -> None:
        """It is gone. What is still found somewhere stays hidden as long as this runs."""
        if clean:
            self._keeper.unhide(items)
        self.forget_questions()

    def forget_questions(self) -> None:
        """Drop the vectors of what was asked."""
        self._encoder.forget_queries()

    def written(self) -> None:
        """Wait until all is in the store; not on the event loop. Raises StoreError."""
        self._writing.submit(self._keeper.store.flush).result()
        if not self.store.settled:
            raise self.store.why()

    def give_way(self, somebody: Callable[[], bool]) -> None:
        """Low-priority writes wait while somebody may be speaking; it is asked in a thread."""
        self._writing.somebody = somebody

    async def settled(self) -> None:
        """Wait until all that was remembered is on the disk and has its vector."""
        await asyncio.get_running_loop().run_in_executor(self._writing, lambda: None)

    def untidy(self, unmerged: int) -> bool:
        """So many new memories, or small writes, slow down what comes next. Any thread."""
        return self._keeper.untidy(unmerged)

    async def tidy(self, unmerged: int) -> None:
        """Mend that. What is begun is ended, whatever becomes of the caller."""
        tidy = partial(self._keeper.tidy, unmerged, in_silence=True)
        await asyncio.get_running_loop().run_in_executor(self._writing, tidy)

    async def close(self) -> None:
        """Idempotent."""
        await asyncio.to_thread(self.shut_down)

    def shut_down(self) -> None:
        """As `close`, blocking."""
        self._writing.shutdown()
        self._encoder.close()
        self.store.close()

    # -- what a face asks for; these block, and may be called from any thread but the loop's ----

    @property
    def store(self) -> WriteQueue:
        """What of it is on the disk; of its parts only the properties may be used."""
        return self._keeper.store

    @property
    def table(self) -> MemoryTable:
        """Raises StoreError: it could not be opened, or is still being read."""
        return self._keeper.opened()[0]

    @property
    def index(self) -> UserIndex:
        """Raises StoreError: it is still being read."""
        return self._keeper.opened()[1]

    def find(self, query: str, k: int = MOST, *, both: bool = False) -> Recalled:
        """As `recall`, without a deadline.

        Args:
            both: ask the stronger encoder too, which is loaded for it; else the parts of the scores
                are the quick one's alone, for which limits are known.
        """
        _, index = self._keeper.opened()
        if both:
            self.strengthening.begin().result()
        question = read_question(query[-LONGEST_QUERY:], index.speakers())
        vector = result(self._encoder.submit(question.meaning), wait=True)
        stronger = self._stronger() if both else None
        better = result(stronger.submit(question.meaning), wait=True) if stronger else None
        late = vector is None and better is None
        return self._search(index, EncodedQuestion(question, vector, late, better), k=k)

    def put(self, memories: Sequence[Memory], *, told: bool = False) -> list[str]:
        """New ones, or others in place of those with their ids, none twice. On the disk when it
        returns.

        Args:
            told: they are news: what is known already is refreshed by them, what is no longer so
                superseded. Returns the ids by which they are known then.

        Raises:
            StoreError: it could not be written; nothing has changed.
        """
        upkeep = self._keeper.upkeep
        upkeep.told(memory.id for memory in memories if told)
        self._writing.submit(self._keeper.put, memories).result()
        return upkeep.standing(memory.id for memory in memories)

    def change(self, ids: Sequence[str], how: Callable[[Memory], Memory]) -> list[Memory]:
        """Replace those that are there; returns what they are now. Raises as `put`."""
        return self._writing.submit(self._keeper.change, ids, how).result()

    def delete(self, memories: Sequence[Memory]) -> None:
        """Gone from recall, the caches and the table when it returns. Raises as `put`."""
        self._writing.submit(self._keeper.delete, memories).result()

    @property
    def encoder(self) -> str:
        """Whose vectors it goes by."""
        return self._encoder.name

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Of texts of which nothing is kept; 5 ms each. Raises ModelFailed."""
        return self._encoder.encode_apart(texts)

    def enrich(self, exchanges: Collection[str]) -> None:
        """What was made of these is searched from soon on. Returns at once."""
        self._writing.post(self._keeper.enrich, exchanges)

    def rebuild(self, transcript: Transcript) -> int:
        """Make all anew of the transcript; returns how many memories there are. Recall goes on
        meanwhile, on what it had. Raises StoreError; it can be called again."""
        count = self._writing.submit(self._keeper.rebuild, transcript).result()
        self._writing.post(self._keeper.take_in_rest)
        self._writing.post(self._keeper.tidy)
        return count

    def _search(
        self,
        index: UserIndex,
        asked: EncodedQuestion,
        exclude: Collection[str] = (),
        k: int = MOST,
        limit: SearchDeadline | None = None,
    ) -> Recalled:
        """Takes a few milliseconds."""
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

    def _stronger(self) -> QueryEncoder | None:
        """While it is of use."""
        index = self._keeper.index
        serves = index is not None and self._keeper.stronger.ready and index.dense.serves
        return self._encoder.stronger if serves else None

    def _speakers(self) -> frozenset[str]:
        return index.speakers() if (index := self._keeper.index) is not None else frozenset()

    def _reading(self, read: Callable[[], None]) -> None:
        """On the writing thread. Doesn't raise: whatever is wrong, the conversation goes on."""
        try:
            read()
            self._after_reading()
        except Exception:
            logger.exception("the memories can't be read")
            self.store.close()  # what was half read is not to be written to
            self.store.failed(StoreError("The memories can't be read; the log has the reason."))

    def _after_reading(self) -> None:
        if self.store.writes and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.writable.set)
        self._embed_rest()
        self._keeper.tidy()

    def _remake(self, index: UserIndex) -> None:
        self._writing.post(self._reading, partial(self._keeper.mend, index))

    def _keep(self) -> None:
        self.store.flush()
        self._embed_rest()

    def _embed_rest(self, *, again: bool = False) -> None:
        """On the writing thread: the newest at once, the rest bit by bit while nobody speaks."""
        self._embedding_later = self._embedding_later and not again
        if self._keeper.embed_some() and not self._embedding_later:
            self._embedding_later = True
            with suppress(RuntimeError), low_priority():  # closed meanwhile
                self._writing.post(self._embed_rest, again=True)

    def _try_later(self, seconds: float) -> None:
        """From the writing thread: read or write again what failed."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.call_later, seconds, self._try_again)

    def _try_again(self) -> None:
        with suppress(RuntimeError):  # closed meanwhile
            self._writing.post(self._reading, self._keeper.read)

    def _tell_later(self, event: Event) -> None:
        """From a thread: events belong to the loop."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._emit, event)
