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
    """A recalled memory and why it was found. `parts` are the parts of its score by name. `words`
    are the question's words that the memory contains."""

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
    """Whether the memory contains information; false if it is only an earlier instance of the same
    question."""
    corrects: bool = False
    """Whether the memory supersedes one that is based on an exchange in the prompt."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The memories that a recall found, best first.

    `missed`: the search by meaning was incomplete, because the question's own vector was late or
    there was no time to search. In that case, the memories were found by words, and by the vector
    of the words heard shortly before if there was one. If the index was locked the whole time,
    nothing was found. `stand_in`: the fast encoder's vector was used because the stronger one's was
    late. `brief`: for lack of time, memories were ranked only by words and meaning.
    """

    memories: tuple[RecalledMemory, ...] = ()
    missed: bool = False
    stand_in: bool = False
    brief: bool = False


class RecalledForTurn(NamedTuple):
    """The result of a recall in the form that a turn uses; see `events.Recalled`."""

    memories: tuple[MemoryUsed, ...] = ()
    missed: bool = False
    stand_in: bool = False
    brief: bool = False


def without_redundant(found: Iterable[RecalledMemory]) -> Iterator[RecalledMemory]:
    """Return the memories in the same order, without repetitions and without those that add no
    information. If a fact and the words that it was derived from were both found, only the one
    ranked higher is kept."""
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
