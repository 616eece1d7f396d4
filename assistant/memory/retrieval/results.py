"""The results of a recall."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from assistant.events import MemoryUsed
from assistant.language.speakers import USER
from assistant.memory.records.ids import exchange_of
from assistant.memory.records.memory import MemoryKind
from assistant.memory.retrieval.vectors.tiers import Tier


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """A recalled memory and why: the parts of its score by name, and the query's words in it."""

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
    """False if it is only an earlier occurrence of the same question."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The memories that a recall found, best first.

    `missed`: the query's own vector was late, or there was no time to search by it. Then words
    decided, with the vector of the words heard shortly before if there was one; or nothing was
    found, because the index was locked the whole time. `stand_in`: the fast encoder's vector was
    used because the stronger one's was late. `brief`: only words and meaning counted, for lack of
    time.
    """

    memories: tuple[RecalledMemory, ...] = ()
    missed: bool = False
    stand_in: bool = False
    brief: bool = False


class RecalledForTurn(NamedTuple):
    """The result of a recall as a turn uses it; see `events.Recalled`."""

    memories: tuple[MemoryUsed, ...] = ()
    missed: bool = False
    stand_in: bool = False
    brief: bool = False


def without_redundant(found: Iterable[RecalledMemory]) -> Iterator[RecalledMemory]:
    """Memories that add something, in the same order: of a fact and the words it was taken from,
    only the one ranked higher."""
    said: set[str] = set()
    quoted: set[str] = set()
    for each in found:
        if not each.adds:
            continue
        if exchange_of(each.id) is not None:
            if not said.isdisjoint(each.sources):
                continue
            quoted.update(each.sources)
        elif each.kind is MemoryKind.EXCHANGE and each.speaker == USER:
            if not quoted.isdisjoint(each.sources):
                continue
            said.update(each.sources)
        yield each
