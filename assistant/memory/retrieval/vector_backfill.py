"""Encodes memories that have no vector yet: a few at a time, newest first.

After a change of encoder these are all memories. Until its turn comes, an older memory is found by
its words only.
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
"""Texts encoded at once; between two batches, low-priority work yields to speech."""
AT_ONCE = 64
"""Memories that get their vectors in one write."""
BY_THE_WAY = 256
"""Memories per write while someone waits for all of them."""


class Embedder:
    """Encodes one user's memories on the writing thread.

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
        """Returns whether nothing more can be done. Doesn't raise.

        Args:
            at_once: memories per write.
            most: about how many in all; default: all.
        """
        embedded, before = 0, list[str]()
        while most is None or embedded < most:
            with self._taking_in:
                ids, texts = index.without_vectors(at_once)
            if not ids or ids == before:  # the encoder can't encode these
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
