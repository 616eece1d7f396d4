"""Long-term memory as the rest of the program calls it.

    recall(query)        once a turn: what matters for it, within a deadline
    remember(exchange)   once an exchange: found by its words when this returns
    settled()            between turns: what was remembered is on the disk, and has its vector

A recall searches on the caller's thread; one other encodes, and one writes. So a slow disk or an
object store that can't be reached never delays a recall; what can't be written stays in RAM and,
being in the transcript, is made up for at the next start.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from assistant.context.conversation import Exchange
from assistant.errors import AssistantError, ModelError, StoreError
from assistant.events import Event, MemoriesRead, Notice, Severity
from assistant.memory import table_schema
from assistant.memory.encoding import QueryEncoder, Vector, Vectors
from assistant.memory.lexicon import Lexicon
from assistant.memory.making import Transcript, made_again, memories_of
from assistant.memory.question import Question, read_question
from assistant.memory.ranking import Ranking
from assistant.memory.record import Memory
from assistant.memory.renewal import in_order, renew
from assistant.memory.table import MemoryTable
from assistant.memory.upkeep import LOOKED_AT_AGAIN, Policy, Upkeep
from assistant.memory.user_index import Recalled, UserIndex

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
MISSES_TOLD = 5
"""So many recalls in a row without the query's vector are told to the user, once."""


class LongTermMemory:
    """One user's memories.

    Args:
        open_table: blocking; may raise StoreError.
        emit: told by a `Notice` when storing begins to fail, and when it works again.
        policy: what is merged, and what expires; by default nothing by itself.
    """

    def __init__(
        self,
        user_id: str,
        open_table: Callable[[], MemoryTable],
        encoder: QueryEncoder,
        lexicon: Lexicon,
        ranking: Ranking,
        emit: Callable[[Event], None],
        policy: Policy | None = None,
    ) -> None:
        self.user_id = user_id
        self._open_table = open_table
        self._encoder = encoder
        self._lexicon = lexicon
        self._ranking = ranking
        self._emit = emit
        self.policy = policy or Policy()
        self._upkeep = Upkeep(user_id, lexicon, self.policy, encoder.forget)
        self._transcript: Transcript | None = None
        self._table: MemoryTable | None = None
        self._index: UserIndex | None = None
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="memory-store")
        self._misses = 0
        self._failing = False
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- what the loop calls --------------------------------------------------------------------

    async def load(self, transcript: Transcript | None) -> None:
        """Read the table and what the transcript has beyond it. Recall finds nothing until then.

        Never raises for the store or the encoder: without them memory lives in RAM for now.
        """
        self._loop = asyncio.get_running_loop()
        await self._loop.run_in_executor(self._writing, self._load, transcript)

    async def recall(
        self, query: str, deadline_s: float, exclude: Collection[str] = ()
    ) -> Recalled:
        """What matters for `query`; past the deadline what the words alone say.

        Args:
            exclude: ids of exchanges that the prompt holds anyway.
        """
        index = self._index
        if index is None:
            return Recalled()
        due = time.monotonic() + deadline_s - RANKING_S
        question = read_question(query, index.speakers())
        vector = self._encoder.submit(question.meaning)
        # Without threads but the encoder's: on a busy machine each takes its time to wake.
        encoded = asyncio.wrap_future(vector)
        encoded.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.wait({encoded}, timeout=max(0.0, due - time.monotonic()))
        recalled = self._search(index, question, vector, exclude)
        self._count(recalled)
        return recalled

    def remember(self, conversation: str, exchange: Exchange) -> None:
        """Take in a complete exchange. Quick; any thread. It is on the disk after `settled`."""
        index = self._index
        if index is None:
            return  # the transcript has it, and `load` reads that last
        memories = memories_of(self.user_id, conversation, exchange)
        new = [memory for memory in memories if memory.id not in index]
        if new:
            index.add(new)
            self._upkeep.told(memory.id for memory in new)
            self._writing.submit(self._write, lambda table: table.add(new))
            self._writing.submit(self._embed, index)
            self._writing.submit(self._tidy, index)

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
        table, self._table = self._table, None
        if table is not None:
            await asyncio.to_thread(table.close)

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
        question = read_question(query, index.speakers())
        vector = self._encoder.submit(question.meaning)
        wait([vector])  # here, and not on the thread that the voice's recall needs
        return self._search(index, question, vector, k=k)

    def put(self, memories: Sequence[Memory], *, told: bool = False) -> list[str]:
        """New ones, or others in place of those with their ids, none twice. On the disk when it
        returns.

        Args:
            told: they are news: what is known already is refreshed by them, what is no longer so
                superseded. Returns the ids by which they are known then.

        Raises:
            StoreError: it could not be written; nothing has changed.
        """
        self._upkeep.told(memory.id for memory in memories if told)
        self._writing.submit(self._put, memories).result()
        return self._upkeep.standing(memory.id for memory in memories)

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
        self,
        index: UserIndex,
        question: Question,
        vector: "Future[Vector]",
        exclude: Collection[str] = (),
        k: int = MOST,
    ) -> Recalled:
        """With the vector if it is there by now; takes a few milliseconds."""
        known: Vector | None = None
        if not vector.done():
            vector.cancel()
            logger.warning("the query's vector came too late")
        elif (error := vector.exception()) is not None:
            logger.warning("the query can't be encoded: %s", error)
        else:
            known = vector.result()
        found = index.search(question, known, k=k, now=datetime.now(UTC), exclude=exclude)
        return Recalled(tuple(found), missed=known is None)

    # -- on the thread that writes --------------------------------------------------------------

    def _load(self, transcript: Transcript | None) -> None:
        try:
            self._encoder.load()
        except ModelError as error:
            self._tell(error)
            return
        self._lexicon.content("")  # its lists are read here, and not by the first recall
        self._transcript = transcript
        index = self._empty_index()
        try:
            table = self._open_table()
            self._table = table
            table.add_encoder(self._encoder.name, self._encoder.dimensions)
            index.load(table.scan(self.user_id, vectors=(self._encoder.name,)), self._encoder.name)
        except StoreError as error:
            self._tell(error)
        self._catch_up(index, transcript)
        self._index = index
        self._tell_later(MemoriesRead(len(index)))
        self._embed(index)
        self._tidy(index)

    def _catch_up(self, index: UserIndex, transcript: Transcript | None) -> None:
        """Make memories of what the transcript has and the table has not."""
        if transcript is None:
            return
        try:
            missing = transcript.exchange_ids(self.user_id) - index.sources()
            memories = made_again(self.user_id, transcript, missing, datetime.now(UTC))
        except StoreError as error:
            self._tell(error)
            return
        if memories:
            index.add(memories)
            self._write(lambda table: table.add(memories))
        self._upkeep.told([*index.newest(LOOKED_AT_AGAIN), *(memory.id for memory in memories)])

    def _embed(self, index: UserIndex, at_once: int = EMBEDDED_AT_ONCE) -> None:
        """Vectors for what has none, a few at a time."""
        while True:
            ids, texts = index.without_vectors(at_once)
            if not ids:
                self._write(partial(self._upkeep.settle, index), proves=False)
                return
            try:
                vectors = self._encoder.encode_documents(texts)
            except ModelError as error:
                self._tell(error)
                return
            index.set_vectors(ids, vectors)
            self._write(partial(self._set_vectors, ids, vectors))

    def _tidy(self, index: UserIndex) -> None:
        """Now and then; neither recall nor the voice waits for it."""
        if index.unmerged > UNMERGED:
            index.tidy()
        if self._upkeep.due():
            sweep = partial(self._upkeep.sweep, index, self._transcript)
            self._write(sweep, proves=False)
        if self._table is not None and self._table.wants_compaction:
            self._write(lambda table: table.compact())

    def _set_vectors(self, ids: Sequence[str], vectors: Vectors, table: MemoryTable) -> None:
        table.set_vectors(self.user_id, self._encoder.name, ids, vectors)

    def _put(self, memories: Sequence[Memory]) -> None:
        table, index = self._opened()
        table.import_(table_schema.exported(memory) for memory in memories)
        for memory in memories:
            if memory.id in index:
                index.update(memory)
        index.add([memory for memory in memories if memory.id not in index])
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
            known = self._upkeep.standing(ids)
            self._change(known, lambda old: replace(old, uses=old.uses + 1, last_used=at))
        except StoreError as error:
            self._tell(error)

    def _drop(self, memories: Sequence[Memory]) -> None:
        ids = [memory.id for memory in memories]
        texts = {memory.text for memory in memories}
        table, index = self._opened()
        table.delete(self.user_id, ids)
        index.remove(ids)
        self._encoder.forget(texts)

    def _rebuild(self, transcript: Transcript) -> int:
        table = self.table
        ids = transcript.exchange_ids(self.user_id)
        made = made_again(self.user_id, transcript, ids, datetime.now(UTC))
        self._upkeep.told(renew(table, self.user_id, made))
        self._encoder.clear()
        index = self._empty_index()
        index.add(in_order(table, self.user_id))
        self._embed(index, EMBEDDED_BY_THE_WAY)
        self._index = index
        # What was remembered meanwhile went to the old index, and waits to be written.
        self._writing.submit(self._take_in_rest, index)
        return len(index)

    def _take_in_rest(self, index: UserIndex) -> None:
        """What the table has and the index has not."""
        try:
            rest = [each for each in in_order(self.table, self.user_id) if each.id not in index]
        except StoreError as error:
            self._tell(error)
            return
        index.add(rest)
        self._embed(index)

    def _write(self, act: Callable[[MemoryTable], object], *, proves: bool = True) -> None:
        """`proves`: where it succeeds, storing works."""
        if self._table is None:
            return
        try:
            act(self._table)
        except StoreError as error:
            self._tell(error)
        else:
            if proves:
                self._recovered()

    # -- inside ---------------------------------------------------------------------------------

    def _empty_index(self) -> UserIndex:
        dimensions, lifetimes = self._encoder.dimensions, self.policy.lifetimes
        return UserIndex(self.user_id, self._lexicon, dimensions, self._ranking, lifetimes)

    def _opened(self) -> tuple[MemoryTable, UserIndex]:
        if self._table is None or self._index is None:
            raise StoreError("The memories are not read yet.", mend="Try again in a moment.")
        return self._table, self._index

    def _count(self, recalled: Recalled) -> None:
        self._misses = self._misses + 1 if recalled.missed else 0
        if self._misses == MISSES_TOLD:
            self._emit(
                Notice(
                    "Recall goes by words alone: this machine is too busy to do more in time.",
                    Severity.WARNING,
                    "Close busy programs, or choose a lighter profile.",
                )
            )

    def _tell(self, error: AssistantError) -> None:
        """Once when it begins to fail."""
        logger.error("long-term memory: %s", error)
        if not self._failing:
            self._failing = True
            self._tell_later(Notice(str(error), Severity.WARNING, error.mend))

    def _recovered(self) -> None:
        if self._failing:
            self._failing = False
            self._tell_later(Notice("Memories are being stored again."))

    def _tell_later(self, event: Event) -> None:
        """From a thread: events belong to the loop."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._emit, event)
