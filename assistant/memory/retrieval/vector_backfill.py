"""Vectors for what has none yet: a few at a time, the newest first.

After the encoder was changed that is everything. Older memories are found by their words until
their turn comes.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from assistant.errors import ModelError
from assistant.memory.records.arrays import Vectors
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.store.table import MemoryTable
from assistant.memory.store.write_priority import yield_to_speech
from assistant.memory.store.write_queue import WriteQueue

ENCODED_AT_ONCE = 16
"""Texts; between two times what may wait lets go first who speaks."""
AT_ONCE = 64
"""Memories that get their vectors in one write."""
BY_THE_WAY = 256
"""The same where somebody waits for the end of it all."""


class Embedder:
    """Of one user's memories, on the thread that writes.

    Args:
        taking_in: held while memories are added.
        done: called when no memory lacks a vector.
    """

    def __init__(
        self,
        user_id: str,
        encoder: QueryEncoder,
        store: WriteQueue,
        taking_in: threading.Lock,
        done: Callable[[UserIndex], None],
    ) -> None:
        self._user_id = user_id
        self._encoder = encoder
        self._store = store
        self._taking_in = taking_in
        self._done = done

    def run(self, index: UserIndex, at_once: int, most: int | None = None) -> bool:
        """Says whether that is all that can be done. Doesn't raise.

        Args:
            at_once: memories in one write.
            most: how many in all, or a few more; default: all.
        """
        embedded, before = 0, list[str]()
        while most is None or embedded < most:
            with self._taking_in:
                ids, texts = index.without_vectors(at_once)
            if not ids or ids == before:  # what the encoder makes nothing of stays without
                self._done(index)
                return True
            before = ids
            self._store.flush()  # what is not in the store can't be given its vector there
            try:
                vectors = self._encoded(texts)
            except ModelError as error:
                self._store.tell(error)
                return True
            index.set_vectors(ids, vectors)
            self._store.write(partial(self._write, ids, vectors))
            embedded += len(ids)
        return False

    def _encoded(self, texts: Sequence[str]) -> Vectors:
        """Raises ModelFailed."""
        pieces = []
        for start in range(0, len(texts), ENCODED_AT_ONCE):
            yield_to_speech()
            piece = texts[start : start + ENCODED_AT_ONCE]
            pieces.append(self._encoder.encode_documents(piece))
        return np.concatenate(pieces)

    def _write(self, ids: Sequence[str], vectors: Vectors, table: MemoryTable) -> None:
        table.set_vectors(self._user_id, self._encoder.name, ids, vectors)
