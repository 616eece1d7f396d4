"""The `Memory` type and its kinds."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import uuid4

from assistant.language.speakers import USER

MARKS = (
    *("importance", "confidence", "last_used", "uses", "feedback", "expires"),
    *("supersedes", "superseded_by", "pinned", "never_recall", "refreshed", "separate"),
)
"""Fields that can't be derived from the transcript."""
LONGEST_READ = 2_000
"""Maximum length, in characters, of a text that rules read: nobody says more at once, and pasted
text says nothing about the user."""
DERIVED_CONFIDENCE = 0.8
"""Confidence of memories derived from the user's words, which may have been misunderstood."""


class MemoryKind(StrEnum):
    """`EXCHANGE` is verbatim; all others are derived from exchanges, and can be derived again."""

    EXCHANGE = "exchange"
    FACT = "fact"
    PREFERENCE = "preference"
    PROFILE = "profile"
    EVENT = "event"
    SUMMARY = "summary"


class MemoryState(StrEnum):
    """The states by which memories can be filtered."""

    PINNED = "pinned"
    NEVER_RECALLED = "never-recalled"
    SUPERSEDED = "superseded"
    FORGETTING = "being-forgotten"
    """Hidden everywhere else, but can still be brought back."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing remembered about one user.

    The text of an `EXCHANGE` is one speaker's turn, word for word, and never changes.
    `context` helps to understand the text, such as its date in words or a description; it is
    searched but not shown. `sources` are ids of the exchanges that the memory is based on.
    Times are in UTC. `importance` and `confidence` are in [0, 1].
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
    """Times rated as rightly recalled, minus times rated as wrongly recalled."""
    expires: datetime | None = None
    sources: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    pinned: bool = False
    never_recall: bool = False
    refreshed: datetime | None = None
    """When it was last repeated; the exchange in which it was is among the sources."""
    separate: bool = False
    """The user said that it neither repeats nor supersedes another."""

    @property
    def told(self) -> datetime:
        """When it was last said."""
        return self.created if self.refreshed is None else max(self.created, self.refreshed)


def new_id() -> str:
    """A random id, which reveals nothing, not even a time."""
    return uuid4().hex


def said(memory: Memory) -> tuple[float, bool, str]:
    """Sort key: by time; within an exchange the user's words come first."""
    return memory.created.timestamp(), memory.speaker != USER, memory.id
