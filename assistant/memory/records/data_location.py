"""What a store of its own offers that holds a person's words, so that they can be forgotten there.

Whoever keeps words beside the transcript and the memories (recordings do; a list or a reminder
would) registers such a location with the transcript (`Transcript.locations`), and names its files
in `forgetting.data_inventory`. Every purge then reaches it, and every search afterwards.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from assistant.events import Searched
from assistant.ipc import Row


class FindsWords(Protocol):
    """Texts that are looked for."""

    def found_in_text(self, values: Iterable[str]) -> set[int]:
        """Numbers of those that are in these."""


class RemovesWords(Protocol):
    """What is being forgotten; `exchanges` and `memories` are ids."""

    @property
    def user(self) -> str: ...

    @property
    def exchanges(self) -> frozenset[str]: ...

    @property
    def memories(self) -> frozenset[str]: ...

    def without(self, conversation: str, rows: Sequence[Row]) -> list[Row] | None:
        """What is left of a recording; None where nothing is to change."""


class DataLocation(Protocol):
    """All calls block, may come from any thread, and may raise StoreError."""

    def words(self, user: str, exchanges: Collection[str]) -> tuple[list[str], list[str]]:
        """The user's texts here that go with these exchanges, and those that stay: what goes is
        looked for everywhere after the purge, and what stays is no trace of it."""

    def purge(self, gone: RemovesWords) -> object:
        """Delete what is gone, and its bytes. Called before the transcript loses the exchanges and
        once more afterwards, for what was added meanwhile; and again after an interruption."""

    def search(self, patterns: FindsWords) -> Iterable[Searched]:
        """Look for what is gone in all that is here, whoever's it is."""

    def limits(self) -> Iterable[str]:
        """What can't be proved of this location, in sentences."""
