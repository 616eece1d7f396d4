"""Lists and filters a user's memories.

The columns that are read for all memories contain no user text, and are cached until the table
changes. Texts are read only for the page that is shown. A text search reads all texts but caches
none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

from assistant.memory.records.hidden import HiddenItems, HiddenSet
from assistant.memory.records.memory import MemoryKind, MemoryState
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript

COLUMNS = ("id", "created", "kind", "speaker", "sources", "pinned", "never_recall", "superseded_by")


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Conditions for the memories to list.

    `since` is inclusive, `before` exclusive. `text` is matched literally, ignoring case.
    """

    kind: MemoryKind | None = None
    since: datetime | None = None
    before: datetime | None = None
    state: MemoryState | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """A memory without its text."""

    id: str
    created: datetime
    kind: MemoryKind
    speaker: str
    sources: tuple[str, ...]
    pinned: bool
    never_recall: bool
    superseded_by: str | None

    def fits(self, which: MemoryFilter) -> bool:
        """Whether the memory meets all conditions except the text search.

        Doesn't check whether the memory is hidden.
        """
        return (
            which.kind in (None, self.kind)
            and (which.since is None or self.created >= which.since)
            and (which.before is None or self.created < which.before)
            and self._is(which.state)
        )

    def _is(self, state: MemoryState | None) -> bool:
        match state:
            case MemoryState.PINNED:
                return self.pinned
            case MemoryState.NEVER_RECALLED:
                return self.never_recall
            case MemoryState.SUPERSEDED:
                return self.superseded_by is not None
        return True


class MemoryBrowser:
    """Lists one user's memories. Not thread-safe. Every method may raise StoreError."""

    def __init__(
        self, user_id: str, table: MemoryTable, open_transcript: Callable[[], Transcript]
    ) -> None:
        self._user_id = user_id
        self._table = table
        self._open_transcript = open_transcript
        self._read: tuple[int, tuple[MemoryEntry, ...]] | None = None
        """The table's version, and the entries that were read at that version."""
        self._chosen: tuple[str, tuple[MemoryEntry, ...]] | None = None
        """A hash of the last filter, and the entries it matched. Hashing avoids storing the search
        text.
        """

    def chosen(self, which: MemoryFilter) -> tuple[MemoryEntry, ...]:
        """Return all matching memories, newest first."""
        hidden = self._hidden()
        key = blake2b(f"{self._version(hidden)} {which!r}".encode()).hexdigest()
        if self._chosen is None or self._chosen[0] != key:
            self._chosen = (key, tuple(self._choose(which, HiddenSet(hidden))))
        return self._chosen[1]

    def texts(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the texts of these memories by id. Missing memories are left out."""
        found: dict[str, str] = {}
        for batch in self._table.scan(self._user_id, ("text",), ids=ids) if ids else ():
            found |= zip(batch.values("id"), batch.values("text"), strict=True)
        return found

    def version(self) -> str:
        """Return a string that changes whenever the table or the set of hidden items changes."""
        return self._version(self._hidden())

    # -- inside ---------------------------------------------------------------------------------

    def _hidden(self) -> Sequence[HiddenItems]:
        return self._open_transcript().hidden(self._user_id)

    def _version(self, hidden: Sequence[HiddenItems]) -> str:
        ids = " ".join(each.id for each in hidden)
        return f"{self._table.version}-{blake2b(ids.encode(), digest_size=8).hexdigest()}"

    def _choose(self, which: MemoryFilter, hidden: HiddenSet) -> list[MemoryEntry]:
        covered = which.state is MemoryState.FORGETTING
        found = [
            each
            for each in self._entries()
            if each.fits(which) and hidden.covers(each.id, each.sources) == covered
        ]
        if not which.text or not found:
            return found
        having = self._having(which.text)
        return [each for each in found if each.id in having]

    def _entries(self) -> tuple[MemoryEntry, ...]:
        version = self._table.version
        if self._read is None or self._read[0] != version:
            read: list[MemoryEntry] = []
            for batch in self._table.scan(self._user_id, COLUMNS):
                read += map(MemoryEntry, *map(batch.values, COLUMNS))
            self._read = (version, tuple(reversed(read)))
        return self._read[1]

    def _having(self, text: str) -> set[str]:
        """Return the ids of the memories that contain a text. Reads in batches and caches no
        text.
        """
        wanted = _plain(text)
        return {
            key
            for batch in self._table.scan(self._user_id, ("text",))
            for key, said in zip(batch.values("id"), batch.values("text"), strict=True)
            if wanted in _plain(said)
        }


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
