"""Request the rows of the memory table from the session. Independent of how rows are drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from assistant.ipc import Row
from ui.screen.memory.filters import Filters
from ui.screen.memory.table import PAGE
from ui.session.session import Session

FOUND = 50
"""Maximum number of results of a search by recall. Must not exceed `PAGE`, the rows of a page."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The rows that the table should show: arguments of `MemoryList.put`."""

    total: int
    pages: Mapping[int, Sequence[Row]]
    cursor: int
    scored: bool = False
    by_words_alone: bool = False
    """Whether recall only matched words, because the encoder was not available."""


@dataclass(slots=True)
class Source:
    """Loads rows of the memory table. Methods raise AssistantError if a request fails."""

    session: Session
    now: Callable[[], datetime]
    filters: Filters = field(default_factory=Filters)
    text: str = ""
    plain: bool = False
    """Whether to search for memories that contain `text`, instead of searching as recall does."""
    seen: str = ""
    """The version of the memories when they were last loaded. Every change gives a new version."""

    async def load(
        self,
        around: str | None,
        cursor: int,
        in_sight: Callable[[int, int], Sequence[int]],
    ) -> Shown:
        """Load the visible rows among those that match the search text and the filters.

        Args:
            around: id of the memory to put the cursor on, if the memory is among the rows.
            cursor: index of the row to put the cursor on otherwise.
            in_sight: returns the numbers of the visible pages, given the cursor's row and the
                total number of rows.
        """
        if self.text and not self.plain:
            return await self._recalled(around, cursor)
        offset = cursor // PAGE * PAGE
        *rows, listed = await self._list(offset, around=around)
        total, place = listed["total"], listed["place"]
        pages = {listed["offset"] // PAGE: rows}
        place = min(cursor, max(total - 1, 0)) if place is None else place
        for page in in_sight(place, total):
            if page not in pages:
                pages[page] = (await self._list(page * PAGE))[:-1]
        self.seen = listed["version"]
        return Shown(total, pages, place)

    async def page(self, number: int) -> list[Row]:
        return (await self._list(number * PAGE))[:-1]

    async def ids(self) -> list[str]:
        """Return the ids of all memories in the table, including those not loaded yet."""
        (row,) = await self.session.ask({**self._wish(), "ids": True})
        return list(row["ids"])

    async def version(self) -> str:
        (row,) = await self.session.ask({"act": "version", **self.filters.whose})
        return str(row["version"])

    async def pending(self) -> list[Row]:
        """Return the deletions that can still be undone or are in progress, oldest first."""
        rows = await self.session.ask({"act": "pending", **self.filters.whose})
        return [row for row in rows if row["event"] == "pending"]

    async def users(self) -> list[str]:
        rows = await self.session.ask({"act": "users"})
        return [row["user"] for row in rows if row["event"] == "user"]

    # -- inside ---------------------------------------------------------------------------------

    async def _recalled(self, around: str | None, cursor: int) -> Shown:
        seen = await self.version()
        wish = {"act": "search", "text": self.text, "limit": FOUND, "light": True}
        *rows, searched = await self.session.ask({**wish, **self.filters.request(self.now())})
        place = next((at for at, row in enumerate(rows) if row["id"] == around), cursor)
        self.seen = seen
        alone = searched["by_words_alone"]
        return Shown(len(rows), {0: rows}, place, scored=True, by_words_alone=alone)

    async def _list(self, offset: int, **more: Any) -> list[Row]:
        page = {"offset": offset, "limit": PAGE, "light": True, **more}
        return await self.session.ask({**self._wish(), **page})

    def _wish(self) -> dict[str, Any]:
        wish = {"act": "grep", "text": self.text} if self.text else {"act": "list"}
        return {**wish, **self.filters.request(self.now())}
