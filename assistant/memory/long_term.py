"""Long-term memory as the rest of the program calls it.

    recall(query)        once a turn: what matters for it, within a deadline
    remember(exchange)   once an exchange: found by its words when this returns
    settled()            between turns: what was remembered is on the disk, and has its vector

A recall searches on the caller's thread; one other encodes, and one writes. So a slow disk or an
object store that can't be reached never delays a recall; what can't be written stays in RAM, is in
the transcript, and is written when the store is back: see `store_link`.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from assistant.context.conversation import Exchange
from assistant.context.notes import Note
from assistant.errors import ModelError, StoreError
from assistant.events import Event, MemoriesRead, ProfileChanged
from assistant.memory import table_schema
from assistant.memory.ageing import Ageing
from assistant.memory.asking import Asked, Asking, Misses, result
from assistant.memory.encoding import LONGEST_QUERY, QueryEncoder, Vectors
from assistant.memory.lexicon import Lexicon
from assistant.memory.making import Transcript, made_of, memories_of
from assistant.memory.question import Earlier, read_question
from assistant.memory.ranking import Ranking
from assistant.memory.record import Memory
from assistant.memory.renewal import in_order, renew
from assistant.memory.store_link import StoreLink
from assistant.memory.table import MemoryTable
from assistant.memory.tiers import Tiers
from assistant.memory.user_index import Found, UserIndex

logger = logging.getLogger(__name__)

MOST = 12
"""Memories of one recall; how many of them the prompt has room for is decided there."""
RANKING_S = 0.003
"""Kept of the deadline for the search itself, once the query's vector is there."""
EMBEDDED_AT_ONCE = 16
EMBEDDED_BY_THE_WAY = 256
"""Where somebody waits for the end of it all: each time is a write."""
UNMERGED = 1_000
"""New memories that recall goes through one by one, before they are folded into the large index."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a recall found, best first. `missed` says that the query's vector came too late: the
    words decided, with the meaning of what was heard of it shortly before, if anything was."""

    memories: tuple[Found, ...] = ()
    missed: bool = False


class LongTermMemory:
    """One user's memories.

    Args:
        open_table: blocking; may raise StoreError.
        emit: told by a `Notice` when storing begins to fail, and when it works again.
    """

    def __init__(
        self,
        user_id: str,
        open_table: Callable[[], MemoryTable],
        encoder: QueryEncoder,
        lexicon: Lexicon,
        ranking: Ranking,
        emit: Callable[[Event], None],
        tiers: Tiers | None = None,
    ) -> None:
        self.user_id = user_id
        self._ageing = Ageing(tiers or Tiers())
        self.store = StoreLink(open_table, self._tell_later, self._try_later)
        """What of it is on the disk; of its parts only the properties may be used from outside."""
        self._encoder = encoder
        self._lexicon = lexicon
        self._ranking = ranking
        self._emit = emit
        self.asking = Asking(encoder, lexicon, self._speakers)
        self.writable = asyncio.Event()
        """Set once the store was read and is this assistant's to write."""
        self._index: UserIndex | None = None
        self._taking_in = threading.Lock()
        self._transcript: Transcript | None = None
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="memory-store")
        self._misses = Misses(emit)
        self._told: tuple[Note, ...] = ()
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- what the loop calls --------------------------------------------------------------------

    async def load(self, transcript: Transcript | None) -> None:
        """Read the table and what the transcript has beyond it. Recall finds nothing until then.

        Never raises for the store or the encoder: without them memory lives in RAM for now.
        """
        self._loop = asyncio.get_running_loop()
        await self._loop.run_in_executor(self._writing, self._load, transcript)

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
        index = self._index
        if index is None:
            return Recalled()
        due = time.monotonic() + deadline_s - RANKING_S
        asked = await self.asking.ask(query[-LONGEST_QUERY:], due, earlier)
        recalled = self._search(index, asked, exclude)
        self._misses.count(asked)
        return recalled

    def profile(self) -> tuple[Note, ...]:
        """What is always in the prompt; the same tuple until it changes. Any thread."""
        return self._index.profile if self._index is not None else ()

    def count(self) -> int:
        """How many there are, as far as they are read."""
        return len(self._index) if self._index is not None else 0

    def remember(self, conversation: str, exchange: Exchange) -> None:
        """Take in a complete exchange. Quick; any thread. It is on the disk after `settled`."""
        memories = memories_of(self.user_id, conversation, exchange)
        if index := self._take_in(memories):
            self._writing.submit(self.store.flush)
            self._writing.submit(self._embed, index)
            self._writing.submit(self._tidy, index)
            self._tell_profile()

    def mark_used(self, ids: Collection[str], at: datetime) -> None:
        """These memories were in a prompt that was answered."""
        if ids:
            self._writing.submit(self._count_use, list(ids), at)

    async def settled(self) -> None:
        """Wait until all that was remembered is on the disk and has its vector."""
        await asyncio.get_running_loop().run_in_executor(self._writing, lambda: None)

    async def close(self) -> None:
        """Idempotent."""
        await asyncio.to_thread(self._writing.shutdown)
        self._encoder.close()
        await asyncio.to_thread(self.store.close)

    # -- what a face asks for; these block, and may be called from any thread but the loop's ----

    @property
    def table(self) -> MemoryTable:
        """Raises StoreError: it could not be opened, or is still being read."""
        return self._opened()[0]

    @property
    def index(self) -> UserIndex:
        """Raises StoreError: it is still being read."""
        return self._opened()[1]

    def find(self, query: str, k: int = MOST) -> Recalled:
        """As `recall`, without a deadline."""
        _, index = self._opened()
        question = read_question(query[-LONGEST_QUERY:], index.speakers())
        vector = result(self._encoder.submit(question.meaning), wait=True)
        return self._search(index, Asked(question, vector, vector is None), k=k)

    def put(self, memories: Sequence[Memory]) -> None:
        """New ones, or others in place of those with their ids, none twice. On the disk when it
        returns.

        Raises:
            StoreError: it could not be written; nothing has changed.
        """
        self._writing.submit(self._put, memories).result()

    def change(self, ids: Sequence[str], how: Callable[[Memory], Memory]) -> list[Memory]:
        """Replace those that are there; returns what they are now. Raises as `put`."""
        return self._writing.submit(self._change, ids, how).result()

    def drop(self, memories: Sequence[Memory]) -> None:
        """Gone from recall, the caches and the table when it returns.

        Raises:
            StoreError: the table could not be written; nothing has changed.
        """
        self._writing.submit(self._drop, memories).result()

    def rebuild(self, transcript: Transcript) -> int:
        """Make anew what the transcript tells, all vectors and the indexes; returns how many
        memories there are. Recall goes on meanwhile, on what it had.

        Raises:
            StoreError: the table or the transcript failed. It can be called again.
        """
        return self._writing.submit(self._rebuild, transcript).result()

    def _search(
        self, index: UserIndex, asked: Asked, exclude: Collection[str] = (), k: int = MOST
    ) -> Recalled:
        """Takes a few milliseconds."""
        now = datetime.now(UTC)
        found = index.search(asked.question, asked.vector, k=k, now=now, exclude=exclude)
        return Recalled(tuple(found), missed=asked.late)

    # -- on the thread that writes --------------------------------------------------------------

    def _load(self, transcript: Transcript | None) -> None:
        try:
            self._encoder.load()
        except ModelError as error:
            self.store.tell(error)
            return
        self._lexicon.content("")  # its lists are read here, and not by the first recall
        self._transcript = transcript
        self._read()

    def _read(self) -> None:
        """What the store has, if it can be had, and what the transcript has beyond it."""
        opened = self.store.open()
        if not opened and self._index is not None:
            self.store.flush()
            return
        index = UserIndex(self.user_id, self._lexicon, self._encoder.dimensions, self._ranking)
        whole = opened and self.store.read(index, self._encoder.name, self._encoder.dimensions)
        if not whole and self._index is not None:
            return
        with self._taking_in:
            self._index = index
        self._catch_up()
        self._tell_later(MemoriesRead(len(index)))
        self._tell_profile()
        if self.store.writes and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.writable.set)
        self._embed(index)
        self._writing.submit(self._tidy, index)

    def _catch_up(self) -> None:
        """Make memories of what the transcript has and the table has not."""
        transcript, index = self._transcript, self._index
        if transcript is None or index is None:
            return
        try:
            missing = made_of(self.user_id, transcript, beyond=index.sources())
        except StoreError as error:
            self.store.tell(error)
            return
        self._take_in(missing)
        self.store.flush()

    def _take_in(self, memories: Iterable[Memory]) -> UserIndex | None:
        """Into RAM, and on the way to the store, what is not there yet; any thread. Returns the
        index if there was any. Without one the transcript has them, and `_read` reads that last."""
        with self._taking_in:
            index = self._index
            new = [each for each in memories if each.id not in index] if index is not None else []
            if index is None or not new:
                return None
            index.add(new)
            if self.store.table is not None or self._transcript is None:
                self.store.wait(new)
            return index

    def _embed(self, index: UserIndex, at_once: int = EMBEDDED_AT_ONCE) -> None:
        """Vectors for what has none, a few at a time."""
        while True:
            ids, texts = index.without_vectors(at_once)
            if not ids:
                return
            try:
                vectors = self._encoder.encode_documents(texts)
            except ModelError as error:
                self.store.tell(error)
                return
            index.set_vectors(ids, vectors)
            self.store.write(partial(self._set_vectors, ids, vectors))

    def _tidy(self, index: UserIndex) -> None:
        """Now and then; neither recall nor the voice waits for it."""
        if index.unmerged > UNMERGED:
            index.tidy()
        if self._ageing.due(index):
            self.store.write(partial(self._ageing.run, index, self._encoder.name))
        if self.store.table is not None and self.store.table.wants_compaction:
            self.store.write(MemoryTable.compact)

    def _set_vectors(self, ids: Sequence[str], vectors: Vectors, table: MemoryTable) -> None:
        table.set_vectors(self.user_id, self._encoder.name, ids, vectors)

    def _put(self, memories: Sequence[Memory]) -> None:
        table, index = self._opened()
        table.import_(table_schema.exported(memory) for memory in memories)
        for memory in memories:
            if memory.id in index:
                index.update(memory)
        index.add([memory for memory in memories if memory.id not in index])
        self._tell_profile()
        self._embed(index, EMBEDDED_BY_THE_WAY)

    def _change(self, ids: Sequence[str], how: Callable[[Memory], Memory]) -> list[Memory]:
        before = self.table.get(self.user_id, ids)
        after = [how(memory) for memory in before]
        self._put(after)
        self._encoder.forget(
            old.text for old, new in zip(before, after, strict=True) if old.text != new.text
        )
        return after

    def _count_use(self, ids: Sequence[str], at: datetime) -> None:
        try:
            self._change(ids, lambda old: replace(old, uses=old.uses + 1, last_used=at))
        except StoreError as error:
            self.store.tell(error)

    def _drop(self, memories: Sequence[Memory]) -> None:
        ids = [memory.id for memory in memories]
        texts = {memory.text for memory in memories}
        table, index = self._opened()
        table.delete(self.user_id, ids)
        self.store.drop(ids)
        index.remove(ids)
        self._encoder.forget(texts)
        self._tell_profile()

    def _rebuild(self, transcript: Transcript) -> int:
        table = self.table
        renew(table, self.user_id, made_of(self.user_id, transcript))
        self._encoder.clear()
        index = UserIndex(self.user_id, self._lexicon, self._encoder.dimensions, self._ranking)
        index.add(in_order(table, self.user_id))
        self._embed(index, EMBEDDED_BY_THE_WAY)
        self._index = index
        # What was remembered meanwhile went to the old index, and waits to be written.
        self._writing.submit(self._take_in_rest, index)
        self._writing.submit(self._tidy, index)
        return len(index)

    def _take_in_rest(self, index: UserIndex) -> None:
        """What the table has and the index has not."""
        try:
            rest = [each for each in in_order(self.table, self.user_id) if each.id not in index]
        except StoreError as error:
            self.store.tell(error)
            return
        index.add(rest)
        self._embed(index)

    # -- inside ---------------------------------------------------------------------------------

    def _opened(self) -> tuple[MemoryTable, UserIndex]:
        if self.store.table is None or self._index is None:
            raise self.store.why()
        return self.store.table, self._index

    def _speakers(self) -> set[str]:
        return self._index.speakers() if self._index is not None else set()

    def _tell_profile(self) -> None:
        """Where it has changed: the model then reads it while nobody waits."""
        before, self._told = self._told, self.profile()
        if self._told != before:
            self._tell_later(ProfileChanged(len(self._told)))

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
