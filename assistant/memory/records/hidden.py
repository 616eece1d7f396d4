"""What is hidden, and can still be brought back."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4


@dataclass(frozen=True, slots=True)
class HiddenItems:
    """Something that the user wants forgotten, and may still take back.

    `exchanges` and `memories` are ids; `asked` and `due` are UTC: when the user said so, and when
    it is to be gone for good.
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
        """Due when `grace` has passed."""
        ids = (tuple(sorted(exchanges)), tuple(sorted(memories)))
        return cls(uuid4().hex, user, asked, asked + grace, *ids)

    def over(self, now: datetime) -> bool:
        """It can't be brought back any more. A clock that was set back gives no more time."""
        return now >= self.due or now < self.asked - timedelta(minutes=1)


class HiddenSet:
    """All that is hidden of a user: nobody is shown it."""

    def __init__(self, hidden: Iterable[HiddenItems]) -> None:
        every = list(hidden)
        self._exchanges = {key for each in every for key in each.exchanges}
        self._memories = {key for each in every for key in each.memories}

    def covers(self, key: str, sources: Iterable[str]) -> bool:
        """Whether a memory, that rests on these exchanges, is hidden."""
        return key in self._memories or not self._exchanges.isdisjoint(sources)
