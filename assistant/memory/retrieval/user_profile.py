"""What is always in the prompt: the user's name, how to address them, how they want to be answered,
and what they pinned.

A name is taken from the user's own words only where they leave no doubt ("My name is Anna.", "Call
me Annie."), so that a doubtful one costs nothing but having to be told.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from assistant.context import Note
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
    """A memory that may stand in every prompt; see `belongs_to_profile`."""

    id: str
    text: str
    kind: MemoryKind
    speaker: str
    created: float
    """Seconds since 1970."""


def profile_notes(standing: Iterable[Standing]) -> tuple[Note, ...]:
    """As the prompt shows them: the name, how to be addressed, and the others, newest first.

    Args:
        standing: without what is superseded or never to be recalled.
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


def _note(each: Standing) -> Note:
    said = datetime.fromtimestamp(each.created, UTC)
    return Note(each.text, each.id, said, each.speaker, each.kind.value)
