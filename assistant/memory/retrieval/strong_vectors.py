"""Manages the stronger encoder's vectors beside the fast one's: loads them after the rest, makes
them in silence, and drops those of encoders no longer chosen.

Everything runs on the writing thread. A failure only costs what the stronger encoder would have
found: until then the fast one is used.
"""

from collections.abc import Callable, Sequence
from functools import partial

from assistant.errors import ModelError
from assistant.events import Event, Notice, Severity
from assistant.memory.records.arrays import Vectors
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.store.open_table import folder_of
from assistant.memory.store.table import MemoryTable
from assistant.memory.store.write_queue import WriteQueue


class Stronger:
    """The stronger vectors of one user's memories.

    Args:
        encoder: the fast encoder, which refers to the stronger one, if any.
        tell: receives a notice, once, if the stronger encoder can't be loaded.
    """

    def __init__(
        self, user_id: str, encoder: QueryEncoder, store: WriteQueue, tell: Callable[[Event], None]
    ) -> None:
        self._user_id = user_id
        self._quick = encoder
        self._store = store
        self._tell = tell
        self._failed = False

    @property
    def ready(self) -> bool:
        """Whether it is loaded and in use. Any thread."""
        return self._quick.stronger is not None and self._quick.stronger.loaded

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the encoders in use, the fast one first."""
        both = (self._quick, self._quick.stronger)
        return tuple(each.name for each in both if each is not None)

    def begin(self, index: UserIndex) -> None:
        """Load the stronger encoder if there is one, and give the index its stored vectors. Takes a
        second. Doesn't raise."""
        stronger = self._quick.stronger
        if stronger is None or stronger.loaded or self._failed:
            return
        try:
            stronger.load()
        except ModelError as error:
            self._failed = True
            told = f"{error} Recall uses {self._quick.name} alone."
            self._tell(Notice(told, Severity.WARNING, error.mend))
            return
        self.attach(index)

    def attach(self, index: UserIndex) -> None:
        """Serve a new index. Does nothing before `begin`. Doesn't raise."""
        stronger = self._quick.stronger
        if stronger is not None and stronger.loaded:
            index.attach_stronger(stronger.dimensions)
            self._store.first(partial(self._read, index, stronger))

    def _read(self, index: UserIndex, stronger: QueryEncoder, table: MemoryTable) -> None:
        if table.refused is None:
            table.add_encoder(stronger.name, stronger.dimensions)
        if stronger.name not in table.encoders():
            return
        for batch in table.scan(self._user_id, ("id",), (stronger.name,)):
            vectors, present = batch.vectors(stronger.name)
            ids = [key for key, there in zip(batch.values("id"), present, strict=True) if there]
            index.set_vectors(ids, vectors[present], stronger=True)

    def anew(self) -> None:
        """Drop all of its vectors, so that they are made again. Doesn't raise."""
        stronger = self._quick.stronger
        if stronger is not None:
            self._store.write(lambda table: table.drop_encoder(stronger.name))

    def take_in(
        self, index: UserIndex, ids: Sequence[str], texts: Sequence[str], vectors: Vectors
    ) -> None:
        """Store vectors made from these texts, unless a text has changed meanwhile. Doesn't
        raise."""
        stronger = self._quick.stronger
        if stronger is None:
            return
        self._store.flush()  # what is not in the store can't be given its vector there
        still = index.saying(ids, texts)
        kept = [ids[at] for at in still]
        index.set_vectors(kept, vectors[still], stronger=True)
        if kept:
            self._store.write(
                lambda table: table.set_vectors(self._user_id, stronger.name, kept, vectors[still])
            )

    def outdated(self) -> list[str]:
        """Encoders with stored vectors that are no longer chosen. None for a store shared between
        machines, since another may use them. Any thread.

        Raises:
            StoreError: it can't be read.
        """
        table = self._store.table
        if table is None or table.refused is not None or folder_of(table.uri) is None:
            return []
        return sorted(set(table.encoders()) - set(self.chosen))

    def drop_outdated(self) -> None:
        """Drop their vectors for all users. Doesn't raise."""

        def drop(table: MemoryTable) -> None:
            for name in self.outdated():
                table.drop_encoder(name)

        self._store.write(drop)
