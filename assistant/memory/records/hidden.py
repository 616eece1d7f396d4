"""Items that are hidden from view, and can still be brought back."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4


@dataclass(frozen=True, slots=True)
class HiddenItems:
    """Items that the user wants forgotten, and may still bring back.

    `exchanges` and `memories` are ids. `asked` and `due` are UTC: when the user asked, and when
    the items are deleted for good.
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
        """Items due once `grace` has passed."""
        ids = (tuple(sorted(exchanges)), tuple(sorted(memories)))
        return cls(uuid4().hex, user, asked, asked + grace, *ids)

    def over(self, now: datetime) -> bool:
        """Whether it is too late to undo. Setting the clock back gives no extra time."""
        return now >= self.due or now < self.asked - timedelta(minutes=1)


class HiddenSet:
    """Everything that is hidden for a user."""

    def __init__(self, hidden: Iterable[HiddenItems]) -> None:
        every = list(hidden)
        self._exchanges = {key for each in every for key in each.exchanges}
        self._memories = {key for each in every for key in each.memories}

    def covers(self, key: str, sources: Iterable[str]) -> bool:
        """Whether a memory with these source exchanges is hidden."""
        return key in self._memories or not self._exchanges.isdisjoint(sources)
