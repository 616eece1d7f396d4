"""Controls the stronger encoder: loads it during the conversation, and makes its vectors in
silence."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.strong_vectors import Stronger
from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.store.write_priority import WriterThread


class Strengthening:
    """The stronger encoder for one user's memories. Does nothing if there is only one encoder.

    Args:
        encoder: the fast encoder, which refers to the stronger one, if any.
        vectors: the stronger encoder's vectors.
        index: the index of the memories; None until it is read.
        load: loads the stronger encoder and its vectors, on the writing thread.
        writing: the writing thread.
    """

    def __init__(
        self,
        encoder: QueryEncoder,
        vectors: Stronger,
        index: Callable[[], UserIndex | None],
        load: Callable[[], None],
        writing: WriterThread,
    ) -> None:
        self._encoder = encoder
        self._vectors = vectors
        self._index = index
        self._load = load
        self._writing = writing

    def begin(self) -> "Future[None]":
        """Load it in the background, once, and use it from then on. Any thread."""
        return self._writing.submit(self._load)

    def missing(self) -> int:
        """How many memories lack its vector. Any thread."""
        index = self._index()
        return index.dense.missing if index is not None else 0

    async def some(self, most: int) -> int:
        """Encode up to `most` memories; returns how many lacked a vector. Stops at once if
        cancelled.

        Raises:
            ModelError: they can't be encoded.
        """
        index, stronger = self._index(), self._encoder.stronger
        if index is None or stronger is None:
            return 0
        ids, texts = index.without_vectors(most, stronger=True)
        if ids:
            try:
                vectors = await asyncio.to_thread(stronger.encode_documents, texts)
            except asyncio.CancelledError:
                stronger.rest()
                raise
            take_in = partial(self._vectors.take_in, index, ids, texts, vectors)
            await asyncio.get_running_loop().run_in_executor(self._writing, take_in)
        return len(ids)

    def rest(self) -> None:
        """Release memory: nothing will be encoded for a while. Quick; any thread."""
        if self._encoder.stronger is not None:
            self._encoder.stronger.rest()

    async def outdated(self) -> bool:
        """Whether the store has vectors of encoders no longer chosen. Raises StoreError."""
        return bool(await asyncio.to_thread(self._vectors.outdated))

    async def drop_outdated(self) -> None:
        """Drop those vectors. Doesn't raise."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._writing, self._vectors.drop_outdated)
