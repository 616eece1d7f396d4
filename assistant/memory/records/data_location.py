"""The interface a store that holds a user's words must offer so that they can be forgotten.

Anything that stores words besides the transcript and the memories (recordings do; a list or a
reminder would) registers a location with the transcript (`Transcript.locations`), and names its
files in `forgetting.data_inventory`. Every purge and every later search then covers it.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from assistant.events import Searched
from assistant.ipc import Row


class FindsWords(Protocol):
    """Texts to search for."""

    def found_in_text(self, values: Iterable[str]) -> set[int]:
        """Indices of the texts that occur in these values."""


class RemovesWords(Protocol):
    """The items that are being forgotten; `exchanges` and `memories` are ids."""

    @property
    def user(self) -> str: ...

    @property
    def exchanges(self) -> frozenset[str]: ...

    @property
    def memories(self) -> frozenset[str]: ...

    def without(self, conversation: str, rows: Sequence[Row]) -> list[Row] | None:
        """A recording's rows without forgotten items; None if nothing changes."""


class DataLocation(Protocol):
    """All calls block, may come from any thread, and may raise StoreError."""

    def words(self, user: str, exchanges: Collection[str]) -> tuple[list[str], list[str]]:
        """The user's texts here that belong to these exchanges, and the user's other texts. After
        the purge, the former are searched for everywhere; a match with the latter is not a
        trace."""

    def purge(self, gone: RemovesWords) -> object:
        """Delete the forgotten items, and overwrite their bytes. Called before the exchanges are
        deleted from the transcript, once more afterwards for later additions, and again after an
        interruption."""

    def search(self, patterns: FindsWords) -> Iterable[Searched]:
        """Search everything here, of all users, for the patterns."""

    def limits(self) -> Iterable[str]:
        """Sentences that state what can't be proved about this location."""
