"""Items that are hidden from the user until they are deleted or brought back."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4


@dataclass(frozen=True, slots=True)
class HiddenItems:
    """Items that the user wants to be forgotten and can still bring back.

    `exchanges` and `memories` are ids. `asked` is the time of the request, and `due` the time at
    which the items are deleted for good, both in UTC.
    """

    id: str
    user: str
    asked: datetime
    due: datetime
    exchanges: tuple[str, ...]
    memories: tuple[str, ...]

    @classmethod
    def of(
        cls,
        user: str,
        exchanges: Iterable[str],
        memories: Iterable[str],
        asked: datetime,
        grace: timedelta = timedelta(),
    ) -> "HiddenItems":
        """Create items that are deleted for good after `grace`."""
        ids = (tuple(sorted(exchanges)), tuple(sorted(memories)))
        return cls(uuid4().hex, user, asked, asked + grace, *ids)

    def over(self, now: datetime) -> bool:
        """Whether it is too late to bring the items back. Setting the clock back gives no extra
        time.
        """
        return now >= self.due or now < self.asked - timedelta(minutes=1)


class HiddenSet:
    """All items that are hidden for a user."""

    def __init__(self, hidden: Iterable[HiddenItems]) -> None:
        every = list(hidden)
        self._exchanges = {key for each in every for key in each.exchanges}
        self._memories = {key for each in every for key in each.memories}

    def covers(self, key: str, sources: Iterable[str]) -> bool:
        """Whether the memory with this id and these source exchanges is hidden."""
        return key in self._memories or not self._exchanges.isdisjoint(sources)
