"""The user's profile, which is in every prompt: the user's name, how to address and answer them,
and the memories that they pinned.

A name is only taken from unambiguous words of the user ("My name is Anna.", "Call me Annie."). If a
name is missed, the user just has to say it again.
"""

from collections.abc import Iterable

from assistant.events import MemoryUsed
from assistant.language.name_introduction import ADDRESS, NAME
from assistant.memory.records.ids import WISH
from assistant.memory.records.memory import Memory, MemoryKind

TEXTS = {NAME: "The user's name is {}.", ADDRESS: "The user wants to be called {}."}


def is_wish_note(memory: Memory | MemoryUsed) -> bool:
    """Return whether a memory is a note on how the user wants to be answered."""
    return memory.kind == MemoryKind.PREFERENCE and memory.id.endswith(f"-{WISH}")


def belongs_to_profile(memory: Memory) -> bool:
    """Return whether a memory is part of the profile."""
    return memory.pinned or memory.kind is MemoryKind.PROFILE or is_wish_note(memory)


def names_first(notes: Iterable[MemoryUsed]) -> tuple[MemoryUsed, ...]:
    """Return the notes with the newest name and form of address first. Older ones are dropped.

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
