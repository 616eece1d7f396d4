"""The `Memory` type, and the kinds and states of memories."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import uuid4

from assistant.language.speakers import USER

MARKS = (
    *("importance", "confidence", "last_used", "uses", "feedback", "expires"),
    *("supersedes", "superseded_by", "pinned", "never_recall", "refreshed", "separate"),
)
"""Names of fields that can't be derived from the transcript."""
LONGEST_READ = 2_000
"""Maximum number of characters of a text that rules examine. Nobody says more in one turn, and long
pasted texts say nothing about the user.
"""
DERIVED_CONFIDENCE = 0.8
"""Confidence of memories derived from the user's words, which may have been misunderstood."""


class MemoryKind(StrEnum):
    """Kinds of memories. `EXCHANGE` is verbatim. The others are derived from exchanges, and can be
    derived again, unless the user wrote them.
    """

    EXCHANGE = "exchange"
    FACT = "fact"
    PREFERENCE = "preference"
    PROFILE = "profile"
    EVENT = "event"
    SUMMARY = "summary"


class MemoryState(StrEnum):
    """States by which memories can be filtered."""

    PINNED = "pinned"
    NEVER_RECALLED = "never-recalled"
    SUPERSEDED = "superseded"
    FORGETTING = "being-forgotten"
    """Hidden everywhere else, but can still be brought back."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing that the assistant remembers about one user.

    The text of an `EXCHANGE` is one speaker's turn, word for word, and never changes. `context` is
    additional text for the search, e.g. the date in words or a description; it is not shown.
    `sources` are ids of the exchanges that the memory is based on. Times are in UTC. `importance`
    and `confidence` are in [0, 1].
    """

    id: str
    user_id: str
    kind: MemoryKind
    text: str
    created: datetime
    speaker: str = USER
    conversation: str = ""
    context: str = ""
    importance: float = 0.5
    confidence: float = 1.0
    last_used: datetime | None = None
    uses: int = 0
    feedback: int = 0
    """Number of ratings as rightly recalled, minus the number of ratings as wrongly recalled."""
    expires: datetime | None = None
    sources: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    pinned: bool = False
    never_recall: bool = False
    refreshed: datetime | None = None
    """Time at which the user last repeated what the memory says. The exchange in which this
    happened is among the sources."""
    separate: bool = False
    """Whether the user said that the memory neither repeats nor supersedes another."""

    @property
    def told(self) -> datetime:
        """Time at which the memory was last said."""
        return self.created if self.refreshed is None else max(self.created, self.refreshed)


def new_id() -> str:
    """Return a random id, which reveals nothing, not even a time."""
    return uuid4().hex


def said(memory: Memory) -> tuple[float, bool, str]:
    """Return a sort key that orders memories by time, and within an exchange puts the user's words
    first.
    """
    return memory.created.timestamp(), memory.speaker != USER, memory.id
