"""The vectors of a stronger encoder beside the quick one's: brought into RAM after the rest, made
while nobody speaks, and dropped when no encoder of that name is chosen any more.

All of it runs on the thread that writes, and a failure costs nothing but what the stronger encoder
would have found: the quick one serves until then.
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
    """Of one user's memories.

    Args:
        encoder: the quick one, which has the stronger one, or has none.
        tell: told once where it can't be had.
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
        """It is there, and in use. Any thread."""
        return self._quick.stronger is not None and self._quick.stronger.loaded

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the encoders whose vectors are wanted, the quick one first."""
        both = (self._quick, self._quick.stronger)
        return tuple(each.name for each in both if each is not None)

    def begin(self, index: UserIndex) -> None:
        """Load it, if there is one and it isn't there yet, and give the index what the store has of
        its vectors. Takes a second. Doesn't raise."""
        stronger = self._quick.stronger
        if stronger is None or stronger.loaded or self._failed:
            return
        try:
            stronger.load()
        except ModelError as error:
            self._failed = True
            told = f"{error} Recall goes by {self._quick.name} alone."
            self._tell(Notice(told, Severity.WARNING, error.mend))
            return
        self.attach(index)

    def attach(self, index: UserIndex) -> None:
        """The index is another one now. Does nothing before `begin`. Doesn't raise."""
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
        """What there is of its vectors is made again. Doesn't raise."""
        stronger = self._quick.stronger
        if stronger is not None:
            self._store.write(lambda table: table.drop_encoder(stronger.name))

    def take_in(
        self, index: UserIndex, ids: Sequence[str], texts: Sequence[str], vectors: Vectors
    ) -> None:
        """Vectors that were made of these texts meanwhile, as far as they are still said. Doesn't
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
        """Encoders of which the store has vectors and that are chosen no more. A store that
        machines share is let alone: another one may have chosen them. Any thread.

        Raises:
            StoreError: it can't be read.
        """
        table = self._store.table
        if table is None or table.refused is not None or folder_of(table.uri) is None:
            return []
        return sorted(set(table.encoders()) - set(self.chosen))

    def drop_outdated(self) -> None:
        """Drop their vectors, of all users. Doesn't raise."""

        def drop(table: MemoryTable) -> None:
            for name in self.outdated():
                table.drop_encoder(name)

        self._store.write(drop)
