"""Orders notes that may contradict each other: the newest first, each with its date."""

import re
from collections.abc import Sequence

from assistant.context.note import Note

ALIKE = 0.6
"""Two notes may contradict each other if they share at least this fraction of the shorter one's
words."""
FEWEST_WORDS = 2
"""Words that a note needs before it can be compared."""


def newest_first(notes: Sequence[Note]) -> tuple[list[Note], frozenset[str]]:
    """Order notes: first what holds now, then what is superseded, newest first.

    Current notes by one speaker about the same thing may contradict each other. They keep their
    places in `notes`, except that the newest of them takes the first one, and so on.

    Args:
        notes: best first.

    Returns:
        The ordered notes, and the ids of all that may contradict another.
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
    """The first letters of the longer words: enough to match "adopted" and "adopt"."""
    return frozenset(word[:5] for word in re.findall(r"\w{4,}", words.lower()))


def _about_the_same(notes: Sequence[Note]) -> list[list[int]]:
    """Groups of two or more notes about the same thing, as ascending indexes."""
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
