"""Long-term memory as the rest of the program calls it.

    recall(query)        once a turn: what matters for it, within a deadline
    remember(exchange)   once an exchange: found by its words when this returns
    settled()            between turns: what was remembered is on the disk, and has its vector

A recall searches on the caller's thread; one other encodes, and one writes. So a slow disk or an
object store that can't be reached never delays a recall; what can't be written stays in RAM, is in
the transcript, and is written when the store is back: see `store_link`.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from assistant.context.conversation import Exchange
from assistant.context.notes import Note
from assistant.events import Event
from assistant.memory.asking import Asked, Asking, Misses, result
from assistant.memory.encoding import LONGEST_QUERY, QueryEncoder, Vectors
from assistant.memory.enriched import Enrichment
from assistant.memory.forgetting_marks import Hidden
from assistant.memory.found import Recalled
from assistant.memory.giving_way import WritingThread
from assistant.memory.keeping import Keeper
from assistant.memory.lexicon import Lexicon
from assistant.memory.making import Transcript, memories_of
from assistant.memory.pace import Limit, Pace
from assistant.memory.question import Earlier, read_question
from assistant.memory.ranking import Ranking
from assistant.memory.record import Memory
from assistant.memory.store_link import StoreLink
from assistant.memory.table import MemoryTable
from assistant.memory.tiers import Tiers
from assistant.memory.upkeep import Policy
from assistant.memory.user_index import UserIndex

MOST = 12
"""Memories of one recall; how many of them the prompt has room for is decided there."""
SEARCH_S = 0.003
"""Kept of the deadline for the search itself, to begin with."""


class LongTermMemory:
    """One user's memories.

    Args:
        open_table: blocking; may raise StoreError.
        emit: told by a `Notice` when storing begins to fail, and when it works again.
        policy: what is merged, and what expires; by default nothing by itself.
        enrichment: what counts of that which is made between utterances; default: nothing.
    """

    def __init__(
        self,
        user_id: str,
        open_table: Callable[[], MemoryTable],
        encoder: QueryEncoder,
        lexicon: Lexicon,
        ranking: Ranking,
        emit: Callable[[Event], None],
        *,
        tiers: Tiers | None = None,
        policy: Policy | None = None,
        enrichment: Enrichment | None = None,
    ) -> None:
        self.user_id = user_id
        self.policy = policy or Policy()
        self._encoder = encoder
        self._emit = emit
        self._keeper = Keeper(
            user_id,
            open_table,
            encoder,
            lexicon,
            ranking,
            tiers or Tiers(),
            self.policy,
            self._tell_later,
            self._try_later,
            enrichment or Enrichment(),
        )
        self.asking = Asking(encoder, lexicon, self._speakers, self._stronger)
        self.writable = asyncio.Event()
        """Set once the store was read and is this assistant's to write."""
        self._writing = WritingThread("memory-store")
        self._misses = Misses(emit)
        self._pace = Pace(SEARCH_S)
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- what the loop calls --------------------------------------------------------------------

    async def load(
        self, transcript: Transcript | None, first: Callable[[MemoryTable], None] = lambda _: None
    ) -> None:
        """Read the table and what the transcript has beyond it. Recall finds nothing until then.

        Never raises for the store or the encoder: without them memory lives in RAM for now.

        Args:
            first: done with the table before anything of it is read; may raise StoreError.
        """
        self._loop = asyncio.get_running_loop()
        await self._loop.run_in_executor(self._writing, self._load, transcript, first)

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
            return Recalled()
        due = time.monotonic() + deadline_s
        asked = await self.asking.ask(
            query[-LONGEST_QUERY:],
            due - self._pace.reserve(deadline_s),
            earlier,
            last=due - self._pace.least(deadline_s),
        )
        limit = self._pace.limit(due)
        recalled = self._search(index, asked, exclude, limit=limit)
        self._pace.over(limit)
        self._misses.count(asked.by_words_alone or limit.too_late)
        return recalled

    def profile(self) -> tuple[Note, ...]:
        """What is always in the prompt; the same tuple until it changes. Any thread."""
        return self._keeper.profile()

    def count(self) -> int:
        """How many there are, as far as they are read."""
        index = self._keeper.index
        return len(index) if index is not None else 0

    def remember(self, conversation: str, exchange: Exchange) -> None:
        """Take in a complete exchange. Quick; any thread. It is on the disk after `settled`."""
        if self._keeper.take_in(memories_of(self.user_id, conversation, exchange)):
            self._writing.submit(self._keeper.keep)
            self._writing.submit(self._keeper.tidy)

    def mark_used(self, ids: Collection[str], at: datetime) -> None:
        """These memories were in a prompt that was answered."""
        if ids:
            self._writing.submit(self._keeper.count_use, list(ids), at)

    def withhold(self, hidden: Hidden) -> None:
        """The user wants this forgotten: nothing of it is recalled from now on. Quick; any
        thread. What the transcript notes of it is withheld from `load` on."""
        self._keeper.withhold(hidden)

    def forget_questions(self) -> None:
        """Drop the vectors of what was asked."""
        self._encoder.forget_queries()

    def written(self) -> None:
        """Wait until all that is remembered is in the store; not on the event loop.

        Raises:
            StoreError: it can't be written now.
        """
        self._writing.submit(self._keeper.store.flush).result()
        if not self.store.settled:
            raise self.store.why()

    def release(self, hidden: Hidden) -> None:
        """The user took that back."""
        self._keeper.release(hidden)

    def give_way(self, somebody: Callable[[], bool]) -> None:
        """What is written `gently` waits while one may be speaking; asked in another thread."""
        self._writing.somebody = somebody

    async def settled(self) -> None:
        """Wait until all that was remembered is on the disk and has its vector."""
        await asyncio.get_running_loop().run_in_executor(self._writing, lambda: None)

    def untidy(self, unmerged: int) -> bool:
        """So many new memories are gone through one by one in every recall, or the store's many
        small writes slow the next ones. Any thread."""
        return self._keeper.untidy(unmerged)

    async def tidy(self, unmerged: int) -> None:
        """Mend that. What is begun is ended, whatever becomes of the caller."""
        tidy = partial(self._keeper.tidy, unmerged, in_silence=True)
        await asyncio.get_running_loop().run_in_executor(self._writing, tidy)

    async def close(self) -> None:
        """Idempotent."""
        await asyncio.to_thread(self._writing.shutdown)
        self._encoder.close()
        await asyncio.to_thread(self.store.close)

    # -- what a face asks for; these block, and may be called from any thread but the loop's ----

    @property
    def store(self) -> StoreLink:
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
            self.begin_stronger().result()
        question = read_question(query[-LONGEST_QUERY:], index.speakers())
        vector = result(self._encoder.submit(question.meaning), wait=True)
        stronger = self._stronger() if both else None
        better = result(stronger.submit(question.meaning), wait=True) if stronger else None
        late = vector is None and better is None
        return self._search(index, Asked(question, vector, late, better), k=k)

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

    def drop(self, memories: Sequence[Memory]) -> None:
        """Gone from recall, the caches and the table when it returns.

        Raises:
            StoreError: the table could not be written; nothing has changed.
        """
        self._writing.submit(self._keeper.drop, memories).result()

    @property
    def encoder(self) -> str:
        """Whose vectors it goes by."""
        return self._encoder.name

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Of texts of which nothing is kept; 5 ms each. Raises ModelFailed."""
        return self._encoder.encode_apart(texts)

    def enrich(self, exchanges: Collection[str]) -> None:
        """What was made of these is searched from soon on. Returns at once."""
        self._writing.submit(self._keeper.enrich, exchanges)

    def rebuild(self, transcript: Transcript) -> int:
        """Make anew what the transcript tells, all vectors and the indexes; returns how many
        memories there are. Recall goes on meanwhile, on what it had.

        Raises:
            StoreError: the table or the transcript failed. It can be called again.
        """
        count = self._writing.submit(self._keeper.rebuild, transcript).result()
        self._writing.submit(self._keeper.take_in_rest)
        self._writing.submit(self._keeper.tidy)
        return count

    def _search(
        self,
        index: UserIndex,
        asked: Asked,
        exclude: Collection[str] = (),
        k: int = MOST,
        limit: Limit | None = None,
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

    # -- the stronger encoder, where there are two ----------------------------------------------

    def begin_stronger(self) -> "Future[None]":
        """Load it beside what goes on, and ask it too from then on; once. Any thread."""
        return self._writing.submit(self._keeper.strengthen)

    def to_strengthen(self) -> int:
        """How many memories lack its vector. Any thread."""
        index = self._keeper.index
        return index.dense.missing if index is not None else 0

    async def strengthen(self, most: int) -> int:
        """Give so many memories its vector; returns how many lacked it. Cancelled, it stops at
        once.

        Raises:
            ModelError: they can't be encoded.
        """
        index, stronger = self._keeper.index, self._encoder.stronger
        if index is None or stronger is None:
            return 0
        ids, texts = index.without_stronger(most)
        if ids:
            try:
                vectors = await asyncio.to_thread(stronger.encode_documents, texts)
            except asyncio.CancelledError:
                stronger.rest()
                raise
            take_in = partial(self._keeper.stronger.take_in, index, ids, texts, vectors)
            await asyncio.get_running_loop().run_in_executor(self._writing, take_in)
        return len(ids)

    def rest(self) -> None:
        """Nothing is to be strengthened for a while. Quick; any thread."""
        if self._encoder.stronger is not None:
            self._encoder.stronger.rest()

    async def outdated(self) -> bool:
        """The store has vectors of encoders that are chosen no more. Raises StoreError."""
        return bool(await asyncio.to_thread(self._keeper.stronger.outdated))

    async def drop_outdated(self) -> None:
        """Drop them. Doesn't raise."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._writing, self._keeper.stronger.drop_outdated)

    # -- inside ---------------------------------------------------------------------------------

    def _stronger(self) -> QueryEncoder | None:
        """While it is of use."""
        index = self._keeper.index
        serves = index is not None and self._keeper.stronger.ready and index.dense.serves
        return self._encoder.stronger if serves else None

    def _speakers(self) -> set[str]:
        index = self._keeper.index
        return index.speakers() if index is not None else set()

    def _load(self, transcript: Transcript | None, first: Callable[[MemoryTable], None]) -> None:
        self._keeper.load(transcript, first)
        self._after_reading()

    def _read(self) -> None:
        self._keeper.read()
        self._after_reading()

    def _after_reading(self) -> None:
        if self.store.writes and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.writable.set)
        self._keeper.tidy()

    def _try_later(self, seconds: float) -> None:
        """From the thread that writes: read or write again what failed."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.call_later, seconds, self._try_again)

    def _try_again(self) -> None:
        with suppress(RuntimeError):  # closed meanwhile
            self._writing.submit(self._read)

    def _tell_later(self, event: Event) -> None:
        """From a thread: events belong to the loop."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._emit, event)
