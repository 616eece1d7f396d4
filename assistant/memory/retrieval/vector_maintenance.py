"""Keeps the vectors of one user's memories up to date. The fast encoder's vectors are computed
first, and the stronger encoder's while nobody speaks. Tiers are reassigned periodically.

Unless stated otherwise, everything runs on the writer thread.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile

import numpy as np

from assistant.errors import ModelError
from assistant.events import Event, Notice, Severity
from assistant.memory.records.arrays import Vector, Vectors
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.retrieval.vectors.tiers import Tiers
from assistant.memory.store.open_table import folder_of
from assistant.memory.store.table import MemoryTable
from assistant.memory.store.write_priority import WriterThread, yield_to_speech
from assistant.memory.store.write_queue import WriteQueue

ENCODED_AT_ONCE = 16
"""Number of texts encoded at once. Between two batches, low-priority work pauses if someone
speaks."""
AT_ONCE = 64
"""Number of memories whose vectors are stored in one write."""
BY_THE_WAY = 256
"""Number of memories whose vectors are stored in one write while a caller waits for all of them."""


class QuickVectors:
    """Encodes memories that have no vector from the fast encoder, a few at a time, newest first.
    After a change of encoder, all memories lack one. A memory without a vector is found by words
    only.

    Args:
        taking_in: the lock that is held while memories are added.
        done: called when no memory lacks a vector, except those that can't be encoded.
    """

    def __init__(
        self,
        encoder: QueryEncoder,
        store: WriteQueue,
        taking_in: threading.Lock,
        done: Callable[[UserIndex], None],
    ) -> None:
        self._encoder = encoder
        self._store = store
        self._taking_in = taking_in
        self._done = done

    def fill(self, index: UserIndex, at_once: int, most: int | None = None) -> bool:
        """Encode memories; return False if there may be more to encode now. Doesn't raise. If the
        encoder fails, return True: the rest waits for the next call, e.g. after the next exchange,
        because an immediate retry would fail, too.

        Args:
            at_once: number of memories per write.
            most: approximate maximum number of memories to encode; default: all.
        """
        encoded, before = 0, list[str]()
        while most is None or encoded < most:
            with self._taking_in:
                ids, texts = index.without_vectors(at_once)
            if not ids or ids == before:  # done, or these can't be encoded
                self._done(index)
                return True
            before = ids
            self._store.flush()  # only rows that are in the store can be given vectors
            try:
                vectors = self._encoded(texts)
            except ModelError as error:
                self._store.tell(error)
                return True
            index.set_vectors(ids, vectors)
            write = partial(_set_vectors, index.user_id, self._encoder.name, ids, vectors)
            self._store.write(write)
            encoded += len(ids)
        return False

    def _encoded(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of the texts.

        Raises:
            ModelFailed: the encoder fails.
        """
        pieces = []
        for start in range(0, len(texts), ENCODED_AT_ONCE):
            yield_to_speech()
            piece = texts[start : start + ENCODED_AT_ONCE]
            pieces.append(self._encoder.encode_documents(piece))
        return np.concatenate(pieces)


class StrongVectors:
    """Loads the stronger encoder after everything else, and computes its vectors while nobody
    speaks. If only the fast encoder is chosen, there is nothing to load or compute. Also drops the
    stored vectors from encoders that the settings no longer choose.

    If the stronger encoder fails, recall continues with the fast one.

    Args:
        encoder: the fast encoder; its attribute `stronger` is the stronger one, if any.
        index: returns the index of the memories; None until it is loaded.
        writing: the writer thread.
        tell: receives a notice, once, if the stronger encoder can't be loaded.
    """

    def __init__(
        self,
        encoder: QueryEncoder,
        store: WriteQueue,
        index: Callable[[], UserIndex | None],
        writing: WriterThread,
        tell: Callable[[Event], None],
    ) -> None:
        self._quick = encoder
        self._encoder = encoder.stronger
        self._store = store
        self._index = index
        self._writing = writing
        self._tell = tell
        self._failed = False

    @property
    def serving(self) -> QueryEncoder | None:
        """The stronger encoder if questions use it now, otherwise None. Any thread may read
        this."""
        index, encoder = self._index(), self._encoder
        ready = encoder is not None and encoder.loaded and index is not None and index.dense.serves
        return encoder if ready else None

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the encoders that the settings choose, the fast one first."""
        both = (self._quick, self._encoder)
        return tuple(each.name for each in both if each is not None)

    def begin(self) -> "Future[None]":
        """Load the encoder in the background, which takes a second, and use it from then on. Does
        nothing before the index is loaded, or after an earlier success or failure. Any thread may
        call this."""
        return self._writing.submit(self._load)

    def _load(self) -> None:
        index, encoder = self._index(), self._encoder
        if index is None or encoder is None or encoder.loaded or self._failed:
            return
        try:
            encoder.load()
        except ModelError as error:
            self._failed = True
            text = f"{error} Recall uses only {self._quick.name}."
            self._tell(Notice(text, Severity.WARNING, error.mend))
            return
        self.attach(index)

    def attach(self, index: UserIndex) -> None:
        """Add the encoder and its stored vectors to a new index. Does nothing until the encoder is
        loaded. Doesn't raise."""
        if self._encoder is not None and self._encoder.loaded:
            index.attach_stronger(self._encoder.dimensions)
            self._store.first(partial(self._read, index, self._encoder))

    def _read(self, index: UserIndex, encoder: QueryEncoder, table: MemoryTable) -> None:
        if table.refused is None:
            table.add_encoder(encoder.name, encoder.dimensions)
        if encoder.name not in table.encoders():
            return
        for batch in table.scan(index.user_id, ("id",), (encoder.name,)):
            vectors, present = batch.vectors(encoder.name)
            ids = [key for key, there in zip(batch.values("id"), present, strict=True) if there]
            index.set_vectors(ids, vectors[present], stronger=True)

    def anew(self) -> None:
        """Drop all vectors from the stronger encoder, so that they are computed again. Doesn't
        raise."""
        if self._encoder is not None:
            name = self._encoder.name
            self._store.write(lambda table: table.drop_encoder(name))

    # -- for idle work, on the event loop ---------------------------------------------------------

    def missing(self) -> int:
        """Return how many memories lack a vector from the stronger encoder. Any thread may call
        this."""
        index = self._index()
        return index.dense.missing if index is not None else 0

    async def some(self, most: int) -> int:
        """Encode up to `most` memories that lack a vector; return how many were encoded. If
        cancelled, stops immediately.

        Raises:
            ModelError: the memories can't be encoded.
        """
        index, encoder = self._index(), self._encoder
        if index is None or encoder is None:
            return 0
        ids, texts = index.without_vectors(most, stronger=True)
        if ids:
            try:
                vectors = await asyncio.to_thread(encoder.encode_documents, texts)
            except asyncio.CancelledError:
                encoder.rest()
                raise
            take_in = partial(self._take_in, index, encoder.name, ids, texts, vectors)
            await asyncio.get_running_loop().run_in_executor(self._writing, take_in)
        return len(ids)

    def _take_in(
        self,
        index: UserIndex,
        encoder: str,
        ids: Sequence[str],
        texts: Sequence[str],
        vectors: Vectors,
    ) -> None:
        """Store the vectors of these texts. Memories whose text has changed meanwhile are
        skipped."""
        self._store.flush()  # only rows that are in the store can be given vectors
        still = index.saying(ids, texts)
        kept, vectors = [ids[at] for at in still], vectors[still]
        index.set_vectors(kept, vectors, stronger=True)
        if kept:
            self._store.write(partial(_set_vectors, index.user_id, encoder, kept, vectors))

    def rest(self) -> None:
        """Free the encoder's memory, because nothing will be encoded for a while. Quick. Any thread
        may call this."""
        if self._encoder is not None:
            self._encoder.rest()

    async def outdated(self) -> bool:
        """Return whether the store has vectors from encoders that are no longer chosen.

        Raises:
            StoreError: the store can't be read.
        """
        return bool(await asyncio.to_thread(self._outdated))

    def _outdated(self) -> set[str]:
        """Return the names of encoders that are no longer chosen but have vectors in the store.
        Empty for an object store, because another machine may use these vectors."""
        table = self._store.table
        if table is None or table.refused is not None or folder_of(table.uri) is None:
            return set()
        return set(table.encoders()) - set(self.chosen)

    async def drop_outdated(self) -> None:
        """Drop the vectors from encoders that are no longer chosen, for all users. Doesn't
        raise."""

        def drop(table: MemoryTable) -> None:
            for name in sorted(self._outdated()):
                table.drop_encoder(name)

        write = partial(self._store.write, drop)
        await asyncio.get_running_loop().run_in_executor(self._writing, write)


def _set_vectors(
    user: str, encoder: str, ids: Sequence[str], vectors: Vectors, table: MemoryTable
) -> None:
    table.set_vectors(user, encoder, ids, vectors)


class TierRefresh:
    """Reassigns memories to tiers after an exchange has been stored.

    There is no timer, since one would wake the machine. Without an exchange, memories are neither
    added nor used, so the tiers hardly change.

    Args:
        clock: returns seconds; must never be set back.
    """

    def __init__(self, tiers: Tiers, clock: Callable[[], float] = time.monotonic) -> None:
        self._tiers = tiers
        self._clock = clock
        self._refreshed: tuple[UserIndex, float] | None = None

    def due(self, index: UserIndex) -> bool:
        """Return whether the index is new, or its tiers were reassigned long enough ago."""
        if self._refreshed is None or self._refreshed[0] is not index:
            return True
        return self._clock() - self._refreshed[1] >= self._tiers.ageing_s

    def run(self, index: UserIndex, encoders: Sequence[str], table: MemoryTable) -> None:
        """Reassign the tiers.

        Args:
            encoders: names of the fast encoder and, if there is one, the stronger encoder.

        Raises:
            StoreError: the exact vectors can't be read. The tiers are unchanged.
        """
        self._refreshed = (index, self._clock())

        def read(encoder: str, ids: Sequence[str]) -> dict[str, Vector]:
            found: dict[str, Vector] = {}
            for batch in table.scan(index.user_id, ("id",), (encoder,), ids):
                vectors, present = batch.vectors(encoder)
                rows = zip(batch.values("id"), vectors, present, strict=True)
                found |= {key: vector for key, vector, there in rows if there}
            return found

        there = table.encoders()
        reads = [partial(read, each) for each in takewhile(there.__contains__, encoders)]
        index.age(self._tiers, datetime.now(UTC), *reads)
