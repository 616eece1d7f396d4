"""Limits what a model may propose about two memories on the same subject: that they say the same,
or that something has changed. Pure.

Models small enough to run here say "changed" about nearly anything. So a model only chooses between
what the words leave open: names, numbers and denials decide, and whatever the user wrote, edited,
pinned or split stays.
"""

from assistant.language.normalisation import content_words
from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.conflicts import changed_since
from assistant.memory.curation.duplicates import (
    DECIDING,
    MOST_LEFT_OUT,
    POINTING,
    SELF,
    complete,
    same_day,
)
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import Memory, MemoryKind

NEAREST = 0.75
"""Cosine from which two memories are about the same subject. Beyond `duplicate_cosine` the rules
have already been tried, and did not decide."""
FREE = frozenset({"our", "in", "on", "at"})
"""Deciding words in which two tellings may differ."""
EDITED = 1.0
"""The confidence of a derived memory that the user has corrected."""


def may_be_merged(memory: Memory) -> bool:
    """Whether a mere proposal may merge or supersede it."""
    return (
        memory.speaker == USER
        and memory.kind is not MemoryKind.SUMMARY
        and not (memory.pinned or memory.separate or memory.never_recall)
        and memory.superseded_by is None
        and ADDED_BY_USER not in memory.sources
        and (memory.kind is MemoryKind.EXCHANGE or memory.confidence < EDITED)
    )


def comparable(older: Memory, newer: Memory) -> bool:
    """Whether they need comparing: the same user and kind, but different exchanges. After an
    interrupted merge, the older one may have the newer one's exchange among its sources."""
    return (
        (older.user_id, older.kind) == (newer.user_id, newer.kind)
        and may_be_merged(older)
        and may_be_merged(newer)
        and (older.told, older.created) <= (newer.told, newer.created)
        and older.sources[:1] != newer.sources[:1]  # the first is its own
    )


def may_be_same(older: Memory, newer: Memory, lexicon: TextAnalyzer) -> bool:
    """Whether the newer one may say the same: no content word that the older one lacks, and every
    name, number, person and denial in its place. Other words may be in any order."""
    if lexicon.language != "en" or newer.kind is not MemoryKind.EXCHANGE:
        return False  # merges of derived memories can't be undone
    if not (complete(older, lexicon) and complete(newer, lexicon)):
        return False
    if not same_day(older, newer) or POINTING.search(newer.text) or POINTING.search(older.text):
        return False
    before, after = content_words(older.text), content_words(newer.text)
    names = _names(older.text) | _names(newer.text)
    if _fixed(before, names) != _fixed(after, names):
        return False
    if sorted(map(_decider, before)) != sorted(map(_decider, after)):
        return False
    known, told = _content(before), _content(after)
    left_out = len(known - told) / max(1, len(known))
    return bool(told) and told <= known and left_out <= MOST_LEFT_OUT


def may_have_changed(older: Memory, newer: Memory, lexicon: TextAnalyzer) -> bool:
    """Whether they contradict each other about a thing of which there is only one."""
    return changed_since(newer, older, lexicon)


# -- inside -------------------------------------------------------------------------------------


def _fixed(found: tuple[str, ...], names: set[str]) -> list[str]:
    """Names, numbers and persons in order: `I owe Paula` is not `Paula owes me`."""
    return [w for w in found if w in names or w in SELF or any(c.isdigit() for c in w)]


def _decider(word: str) -> str:
    return word if word in DECIDING - FREE else ""


def _content(found: tuple[str, ...]) -> set[str]:
    return {word.removesuffix("s") for word in found if word not in DECIDING}


def _names(text: str) -> set[str]:
    """Capitalised words, except the first and "I"."""
    rest = text.partition(" ")[2]
    return {
        w for each in rest.split() if each[:1].isupper() for w in content_words(each) if w != "i"
    }
