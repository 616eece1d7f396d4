"""The user's profile, which is always in the prompt: their name, how to address and answer them,
and what they pinned.

A name is only taken from words of the user that leave no doubt ("My name is Anna.", "Call me
Annie."); if one is missed, the user just has to say it again.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from assistant.events import MemoryUsed
from assistant.language.name_introduction import ADDRESS, NAME
from assistant.memory.records.ids import WISH
from assistant.memory.records.memory import Memory, MemoryKind

TEXTS = {NAME: "The user's name is {}.", ADDRESS: "The user wants to be called {}."}


def belongs_to_profile(memory: Memory) -> bool:
    """Whether it may be in every prompt."""
    wish = memory.kind is MemoryKind.PREFERENCE and memory.id.endswith(f"-{WISH}")
    return memory.pinned or memory.kind is MemoryKind.PROFILE or wish


@dataclass(frozen=True, slots=True)
class Standing:
    """A memory that may be in every prompt; see `belongs_to_profile`."""

    id: str
    text: str
    kind: MemoryKind
    speaker: str
    created: float
    """Seconds since 1970."""


def profile_notes(standing: Iterable[Standing]) -> tuple[MemoryUsed, ...]:
    """The notes for the prompt: name, form of address, then the others, newest first.

    Args:
        standing: without superseded or never-recalled memories.
    """
    newest_first = sorted(standing, key=lambda each: (-each.created, each.id))
    names: dict[str, Standing] = {}
    others = []
    for each in newest_first:
        what = each.id.rpartition("-")[2]
        if each.kind is MemoryKind.PROFILE and what in TEXTS:
            names.setdefault(what, each)
        else:
            others.append(each)
    ordered = [names[what] for what in TEXTS if what in names] + others
    return tuple(map(_note, ordered))


def _note(each: Standing) -> MemoryUsed:
    said = datetime.fromtimestamp(each.created, UTC)
    return MemoryUsed(each.id, each.text, kind=each.kind.value, speaker=each.speaker, said=said)
