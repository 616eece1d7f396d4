"""What a memory is."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import uuid4

from assistant.language.speakers import USER

MARKS = (
    *("importance", "confidence", "last_used", "uses", "feedback", "expires"),
    *("supersedes", "superseded_by", "pinned", "never_recall", "refreshed", "separate"),
)
"""What the transcript does not tell."""
LONGEST_READ = 2_000
"""Characters of a text that rules read: nobody talks longer, and what is pasted tells nothing."""
DERIVED_CONFIDENCE = 0.8
"""Of what was made of the user's words: they need not mean what they were taken for."""


class MemoryKind(StrEnum):
    """`EXCHANGE` is verbatim; all others are derived from such, and can be derived again."""

    EXCHANGE = "exchange"
    FACT = "fact"
    PREFERENCE = "preference"
    PROFILE = "profile"
    EVENT = "event"
    SUMMARY = "summary"


class MemoryState(StrEnum):
    """What a memory can be beside there."""

    PINNED = "pinned"
    NEVER_RECALLED = "never-recalled"
    SUPERSEDED = "superseded"
    FORGETTING = "being-forgotten"
    """Out of sight everywhere else; it can still be brought back."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing remembered of one user.

    The text of an `EXCHANGE` is one turn of one speaker, to the letter, and never changes.
    `context` is what the text is to be understood by: its date in words, a description; it is
    searched, not shown. `sources` are the ids of the transcript's exchanges that it rests on.
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
    """Times marked as rightly recalled less times marked as wrongly."""
    expires: datetime | None = None
    sources: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    pinned: bool = False
    never_recall: bool = False
    refreshed: datetime | None = None
    """When it was last told again; the exchange of that is among the sources."""
    separate: bool = False
    """Somebody said that it neither repeats nor supersedes another."""

    @property
    def told(self) -> datetime:
        """When it was last told."""
        return self.created if self.refreshed is None else max(self.created, self.refreshed)


def new_id() -> str:
    """It says nothing of the memory, not even its time."""
    return uuid4().hex


def said(memory: Memory) -> tuple[float, bool, str]:
    """Sorts by time; of one exchange the user's words come first."""
    return memory.created.timestamp(), memory.speaker != USER, memory.id
