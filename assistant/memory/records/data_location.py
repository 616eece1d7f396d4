"""Interfaces through which forgetting reaches every store of user text.

Recordings are such a store, and so is the user's state (lists, reminders etc.). Each store, except
the conversations and the memories, registers a `DataLocation` with the transcript
(`Transcript.locations`). If it has files of its own, `forgetting.data_inventory` lists them. Every
purge and every later search then covers the store.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from assistant.events import Searched
from assistant.ipc import Row


class FindsWords(Protocol):
    """Finds deleted texts in other texts."""

    def found_in_text(self, values: Iterable[str]) -> set[int]:
        """Return the indices of the deleted texts that occur in these values."""


class RemovesWords(Protocol):
    """The items that must be removed from a store. `exchanges` and `memories` are ids."""

    @property
    def user(self) -> str: ...

    @property
    def exchanges(self) -> frozenset[str]: ...

    @property
    def memories(self) -> frozenset[str]: ...

    def without(self, conversation: str, rows: Sequence[Row]) -> list[Row] | None:
        """Return the rows of a recording without the forgotten items; None if nothing changes."""


class DataLocation(Protocol):
    """A store of user text. All methods block, may be called from any thread, and may raise
    StoreError.
    """

    def words(
        self, user: str, exchanges: Collection[str], memories: Collection[str]
    ) -> tuple[list[str], list[str]]:
        """Return the stored texts that belong to these exchanges and memories, and the user's other
        texts.

        After the purge, all stores are searched for the texts in the first list. A match that also
        occurs in the second list doesn't count as a trace.
        """

    def purge(self, gone: RemovesWords) -> object:
        """Delete the forgotten items, and overwrite their bytes.

        This is called before the exchanges are deleted from the transcript, and once more
        afterwards to cover later additions. After an interruption, both calls are repeated.
        """

    def search(self, patterns: FindsWords) -> Iterable[Searched]:
        """Search all data in this store, of all users, for the patterns."""

    def limits(self) -> Iterable[str]:
        """Return sentences that state what can't be proved about this store."""
