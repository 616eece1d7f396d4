"""What a recall gives back."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from assistant.events import MemoryUsed
from assistant.memory.records.memory import MemoryKind
from assistant.memory.retrieval.vectors.tiers import Tier


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """A recalled memory, and why: the parts of its score by name, the query's words in it."""

    id: str
    text: str
    kind: MemoryKind
    speaker: str
    created: datetime
    score: float
    parts: Mapping[str, float]
    words: tuple[str, ...]
    superseded_by: str | None
    sources: tuple[str, ...]
    tier: Tier = Tier.COLD
    adds: bool = True
    """False where it is the same question, asked before: that tells nothing."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a recall found, best first. `missed` says that no vector of the query itself came in
    time, or that there was no time to look for its neighbours: the words decided, with the meaning
    of what was heard of it shortly before, if anything was; or nothing was found, where the index
    was being changed for all that time. `stand_in`: the quick encoder's vector stood in for the
    stronger one's, which was late. `brief`: words and meaning decided, and there was no time to
    look at anything else about them."""

    memories: tuple[RecalledMemory, ...] = ()
    missed: bool = False
    stand_in: bool = False
    brief: bool = False


class RecalledForTurn(NamedTuple):
    """The same for a turn; see `events.Recalled`."""

    memories: tuple[MemoryUsed, ...] = ()
    missed: bool = False
    stand_in: bool = False
    brief: bool = False
