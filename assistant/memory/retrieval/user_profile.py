"""The user's profile, which is always in the prompt: their name, how to address and answer them,
and what they pinned.

A name is only taken from unambiguous words of the user ("My name is Anna.", "Call me
Annie."); if one is missed, the user just has to say it again.
"""

from collections.abc import Iterable

from assistant.events import MemoryUsed
from assistant.language.name_introduction import ADDRESS, NAME
from assistant.memory.records.ids import WISH
from assistant.memory.records.memory import Memory, MemoryKind

TEXTS = {NAME: "The user's name is {}.", ADDRESS: "The user wants to be called {}."}


def belongs_to_profile(memory: Memory) -> bool:
    """Whether a memory may be in every prompt."""
    wish = memory.kind is MemoryKind.PREFERENCE and memory.id.endswith(f"-{WISH}")
    return memory.pinned or memory.kind is MemoryKind.PROFILE or wish


def names_first(notes: Iterable[MemoryUsed]) -> tuple[MemoryUsed, ...]:
    """The newest name and form of address, then the other notes.

    Args:
        notes: newest first.
    """
    names: dict[str, MemoryUsed] = {}
    others = []
    for note in notes:
        what = note.id.rpartition("-")[2]
        if note.kind == MemoryKind.PROFILE and what in TEXTS:
            names.setdefault(what, note)
        else:
            others.append(note)
    return tuple([names[what] for what in TEXTS if what in names] + others)
