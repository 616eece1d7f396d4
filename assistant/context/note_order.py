"""The order of notes that may contradict each other: the newest comes first, and each says when it
was told."""

import re
from collections.abc import Sequence

from assistant.context.note import Note

ALIKE = 0.6
"""Of the words of the shorter note, shared with the other one, from which on they may contradict
each other."""
FEWEST_WORDS = 2
"""Of a note that can be told to be about the same."""


def newest_first(notes: Sequence[Note]) -> tuple[list[Note], frozenset[str]]:
    """What holds now in its order, then what something newer stands for, the newest first. Of those
    that one speaker told of the same, which may contradict each other though nothing says so, the
    newest takes the first place of them all, and so on.

    Args:
        notes: best first.

    Returns:
        Them, and the ids of all that may contradict another of them.
    """
    now = [note for note in notes if not note.superseded_by]
    before = sorted((note for note in notes if note.superseded_by), key=_told, reverse=True)
    rivals = {note.id for note in before} | {note.superseded_by for note in before}
    for places in _about_the_same(now):
        chosen = sorted((now[place] for place in places), key=_told, reverse=True)
        for place, note in zip(places, chosen, strict=True):
            now[place] = note
        rivals |= {note.id for note in chosen}
    return now + before, frozenset(key for key in rivals if key)


def word_beginnings(words: str) -> frozenset[str]:
    """Beginnings of the longer words: enough to tell "adopted" and "adopt" alike."""
    return frozenset(word[:5] for word in re.findall(r"\w{4,}", words.lower()))


def _about_the_same(notes: Sequence[Note]) -> list[list[int]]:
    """Places of notes, ascending, in groups of two or more."""
    known = [word_beginnings(note.text) for note in notes]
    groups: list[list[int]] = []
    for place, note in enumerate(notes):
        for group in groups:
            first = group[0]
            if note.speaker == notes[first].speaker and _alike(known[place], known[first]):
                group.append(place)
                break
        else:
            groups.append([place])
    return [group for group in groups if len(group) > 1]


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    least = min(len(one), len(other))
    return least >= FEWEST_WORDS and len(one & other) >= ALIKE * least


def _told(note: Note) -> float:
    return note.said.timestamp() if note.said else 0.0
